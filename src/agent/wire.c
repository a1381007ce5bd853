/* SPDX-License-Identifier: MIT */
#include "agent/wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/splice.h"
#include "base/clock_ns.h"

_Static_assert(QUEUE_ROOM >= LINK_DATA_ROOM, "a frame of pages is made where they are");

/* Frames that a reader sends before it looks at its ring again. */
#define CARRY_FRAMES 2

void wire_init(struct wire *wire)
{
    *wire = (struct wire){.fd = -1, .clock = {.dir = -1}};
    pthread_mutex_init(&wire->lock, NULL);
    pthread_mutex_init(&wire->clock_lock, NULL);
}

void wire_done(struct wire *wire)
{
    free(wire->kept);
    wire->kept = NULL;
}

static void forget(struct wire *wire)
{
    wire->pending = NULL;
    wire->pending_size = 0;
    wire->lent = NULL; /* they stay in their queue */
    wire->carries = false;
    atomic_store(&wire->splices, false);
    wire->n_pongs = 0;
    wire->sequence = 0;
}

void wire_connect(struct wire *wire, int fd, bool is_socket)
{
    pthread_mutex_lock(&wire->lock);
    forget(wire);
    wire->fd = fd;
    wire->is_socket = is_socket;
    wire->suits = splice_suits(fd);
    wire->connection++;
    pthread_mutex_unlock(&wire->lock);
}

void wire_disconnect(struct wire *wire)
{
    pthread_mutex_lock(&wire->lock);
    forget(wire);
    wire->fd = -1;
    wire->connection++;
    pthread_mutex_unlock(&wire->lock);
}

void wire_forget_pings(struct wire *wire)
{
    pthread_mutex_lock(&wire->lock);
    wire->n_pongs = 0;
    pthread_mutex_unlock(&wire->lock);
}

void wire_set_clock(struct wire *wire, const struct guest_clock *clock)
{
    pthread_mutex_lock(&wire->clock_lock);
    wire->clock = *clock;
    pthread_mutex_unlock(&wire->clock_lock);
}

uint64_t wire_now(struct wire *wire)
{
    uint64_t now;

    pthread_mutex_lock(&wire->clock_lock);
    now = guest_clock_now(&wire->clock);
    pthread_mutex_unlock(&wire->clock_lock);
    return now;
}

/* Below, the lock is held. */

static int write_pending(struct wire *wire)
{
    while (wire->pending_size > 0) {
        ssize_t n = wire->is_socket ? send(wire->fd, wire->pending, wire->pending_size,
                                           MSG_DONTWAIT | MSG_NOSIGNAL)
                                    : write(wire->fd, wire->pending, wire->pending_size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return -errno;
        wire->pending += n;
        wire->pending_size -= (size_t)n;
    }
    if (wire->lent) {
        queue_take(&wire->lent->queue, wire->lent_pages);
        reader_has_room(wire->lent);
        wire->lent = NULL;
    }
    return 1;
}

static void seal(struct wire *wire, struct link_out *out, enum link_type type, uint16_t flags,
                 uint32_t unpacked)
{
    link_frame_seal(out->start, (uint16_t)type, flags, (uint32_t)(out->len - LINK_HEADER_SIZE),
                    unpacked, wire->sequence++);
    wire->pending = out->start;
    wire->pending_size = out->len;
}

/* The frame under way, then the pongs that wait. */
static int pump(struct wire *wire)
{
    int r = write_pending(wire);

    while (r > 0 && wire->n_pongs > 0) {
        struct link_out out = link_begin(wire->small, sizeof wire->small);
        struct link_pong pong = {.ping = wire->pongs[0].ping, .came = wire->pongs[0].came};

        wire->n_pongs--;
        memmove(wire->pongs, wire->pongs + 1, wire->n_pongs * sizeof wire->pongs[0]);
        pong.monotonic_raw = clock_ns(CLOCK_MONOTONIC_RAW);
        pong.realtime = clock_ns(CLOCK_REALTIME);
        pong.sent = wire_now(wire);
        link_put_pong(&out, &pong);
        seal(wire, &out, LINK_PONG, 0, (uint32_t)(out.len - LINK_HEADER_SIZE));
        r = write_pending(wire);
    }
    return r;
}

int wire_pump(struct wire *wire)
{
    int r;

    pthread_mutex_lock(&wire->lock);
    r = wire->fd < 0 ? -ENOTCONN : pump(wire);
    pthread_mutex_unlock(&wire->lock);
    return r;
}

int wire_send(struct wire *wire, uint64_t connection, struct link_out *out, enum link_type type,
              uint16_t flags, uint32_t unpacked)
{
    int r;

    if (out->full)
        return -E2BIG;
    pthread_mutex_lock(&wire->lock);
    r = wire->fd < 0 || wire->connection != connection ? -ENOTCONN : pump(wire);
    if (r == 0) {
        r = -EAGAIN;
    } else if (r > 0) {
        seal(wire, out, type, flags, unpacked);
        r = pump(wire);
    }
    pthread_mutex_unlock(&wire->lock);
    return r;
}

void wire_carry(struct wire *wire, uint64_t connection, bool carries, bool takes_unchecked)
{
    pthread_mutex_lock(&wire->lock);
    wire->carries = carries && wire->connection == connection && wire->fd >= 0;
    atomic_store(&wire->splices, wire->carries && takes_unchecked && wire->suits);
    pthread_mutex_unlock(&wire->lock);
}

/* A frame of them. 0: there are none. */
static int begin_pages(struct wire *wire, struct reader *reader)
{
    size_t page_size = reader->queue.page_size;
    size_t most = MAX((LINK_DATA_MAX - LINK_DATA_ROOM) / page_size, (size_t)1);
    struct link_data data = {.cpu = reader->cpu};
    struct link_out out;
    uint8_t *pages;
    size_t held = queue_look(&reader->queue, &pages);

    if (held == 0)
        return 0;
    data.n_pages = (uint32_t)MIN(held, most);
    data.size = data.n_pages * page_size;
    data.first = atomic_load(&reader->queue.tail);
    out = link_data_around(pages, &data);
    seal(wire, &out, LINK_DATA, 0, (uint32_t)(out.len - LINK_HEADER_SIZE));
    wire->lent = reader;
    wire->lent_pages = data.n_pages;
    return 1;
}

static int send_pages(struct wire *wire, struct reader *reader, unsigned frames)
{
    int some = 0, r;

    do {
        r = pump(wire);
        if (r <= 0)
            return r < 0 ? r : -EAGAIN;
        if (frames == 0)
            return some;
        r = begin_pages(wire, reader);
        some |= r;
        frames--;
    } while (r > 0);
    return some;
}

int wire_send_pages(struct wire *wire, uint64_t connection, struct reader *reader, unsigned frames)
{
    int r = -ENOTCONN;

    pthread_mutex_lock(&wire->lock);
    if (wire->fd >= 0 && wire->connection == connection)
        r = send_pages(wire, reader, frames);
    pthread_mutex_unlock(&wire->lock);
    return r;
}

bool wire_carry_pages(void *carrier, struct reader *reader)
{
    struct wire *wire = carrier;
    bool all;

    pthread_mutex_lock(&wire->lock);
    all = wire->carries && send_pages(wire, reader, CARRY_FRAMES) >= 0 &&
          queue_held(&reader->queue) == 0;
    pthread_mutex_unlock(&wire->lock);
    return all;
}

bool wire_splices(void *carrier, struct reader *reader)
{
    struct wire *wire = carrier;

    (void)reader;
    return atomic_load_explicit(&wire->splices, memory_order_relaxed);
}

/* What is left of a frame whose first SENT bytes are out goes on from READER's queue: what is in its pipe, or where
 * that is LOST, pages that say so. */
static bool go_on_from_queue(struct wire *wire, struct reader *reader, const struct link_data *data,
                             size_t sent, bool lost)
{
    size_t pages_sent = sent - MIN(sent, (size_t)LINK_DATA_ROOM);
    uint8_t *pages = queue_free_pages(&reader->queue, data->n_pages);
    struct link_out out;

    if (!pages)
        return false;
    if (lost)
        splice_blank(&reader->buffer->page, pages, data->n_pages, wire_now(wire));
    else if (splice_read(reader->pipe[0], pages + pages_sent, data->size - pages_sent) < 0)
        return false;
    for (uint32_t i = 0; i < data->n_pages; i++)
        queue_put(&reader->queue);
    wire->sequence--; /* the same once more */
    out = link_data_around(pages, data);
    seal(wire, &out, LINK_DATA, LINK_UNCHECKED, (uint32_t)(out.len - LINK_HEADER_SIZE));
    wire->pending += sent;
    wire->pending_size -= sent;
    wire->lent = reader;
    wire->lent_pages = data->n_pages;
    return true;
}

static bool pass_pages(struct wire *wire, struct reader *reader, unsigned n_pages)
{
    struct link_data data = {.cpu = reader->cpu,
                             .n_pages = n_pages,
                             .first = atomic_load(&reader->queue.tail),
                             .size = n_pages * reader->queue.page_size};
    struct link_out out = link_begin(wire->small, sizeof wire->small);
    size_t head, sent = 0;
    int r;

    if (!atomic_load(&wire->splices) || pump(wire) != 1)
        return false;
    link_put_data(&out, &data);
    out.len += data.size; /* they are not there, but belong to it */
    seal(wire, &out, LINK_DATA, LINK_UNCHECKED, (uint32_t)(out.len - LINK_HEADER_SIZE));
    wire->pending_size = LINK_DATA_ROOM;
    r = write_pending(wire);
    head = LINK_DATA_ROOM - wire->pending_size;
    wire->pending_size = 0;
    if (r <= 0 && head == 0) {
        wire->sequence--; /* it was not begun */
        return false;
    }
    if (r > 0)
        r = splice_out(reader->pipe[0], wire->fd, data.size, &sent);
    if (r == 1) {
        queue_pass(&reader->queue, n_pages);
        return true;
    }
    if (r == -ENOBUFS) {
        atomic_store(&wire->splices, false);
        wire->suits = false;
    }
    return go_on_from_queue(wire, reader, &data, head + sent, r == -ENOBUFS);
}

bool wire_pass_pages(void *carrier, struct reader *reader, unsigned n_pages)
{
    struct wire *wire = carrier;
    bool done;

    pthread_mutex_lock(&wire->lock);
    done = pass_pages(wire, reader, n_pages);
    pthread_mutex_unlock(&wire->lock);
    return done;
}

void wire_give_back(struct wire *wire)
{
    pthread_mutex_lock(&wire->lock);
    wire->carries = false;
    atomic_store(&wire->splices, false);
    wire->lent = NULL;
    if (wire->pending_size > 0) {
        uint8_t *copy = malloc(wire->pending_size);

        if (copy)
            memcpy(copy, wire->pending, wire->pending_size);
        else
            wire->pending_size = 0; /* the host sees that the end of a frame is missing */
        wire->pending = copy;
        free(wire->kept);
        wire->kept = copy;
    }
    pthread_mutex_unlock(&wire->lock);
}

bool wire_pong(struct wire *wire, const struct link_ping *ping, uint64_t came)
{
    bool waits;

    pthread_mutex_lock(&wire->lock);
    /* Who pings without waiting for answers gets those to the last pings. */
    if (wire->n_pongs == WIRE_PONGS)
        memmove(wire->pongs, wire->pongs + 1, --wire->n_pongs * sizeof wire->pongs[0]);
    wire->pongs[wire->n_pongs++] = (struct wire_pong){*ping, came};
    waits = wire->fd >= 0 && pump(wire) != 1;
    pthread_mutex_unlock(&wire->lock);
    return waits;
}
