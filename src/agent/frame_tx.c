/* SPDX-License-Identifier: MIT */
#include "agent/frame_tx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/splice.h"
#include "base/clock_ns.h"

_Static_assert(QUEUE_ROOM >= PROTO_DATA_ROOM, "a frame of pages is made where they are");

_Static_assert(SPLICE_SIZE_READ + PROTO_DATA_ROOM - PROTO_HEADER_SIZE <= PROTO_BODY_MAX,
               "a frame holds the pages of a splice");

/* Frames that a reader sends before it reads its ring again. */
#define READER_FRAMES_MAX 2

void frame_tx_done(struct frame_tx *tx)
{
    free(tx->copy);
    tx->copy = NULL;
}

static void update_splice_size(struct frame_tx *tx)
{
    size_t size = 0;

    if (tx->may_splice)
        size = tx->spliced - tx->spliced_and_read < SPLICE_UNREAD_MAX ? SPLICE_SIZE_READ
                                                                      : SPLICE_SIZE_FRAMED;
    atomic_store_explicit(&tx->splice_size, size, memory_order_relaxed);
}

static void forget(struct frame_tx *tx)
{
    tx->pending = NULL;
    tx->pending_size = 0;
    tx->reader = NULL; /* its pages stay in their queue */
    tx->readers_may_send = false;
    tx->may_splice = false;
    tx->n_pongs = 0;
    tx->sequence = 0;
    tx->spliced = tx->spliced_before_pong = tx->spliced_and_read = 0;
    tx->pong_is_sent = false;
    update_splice_size(tx);
}

void frame_tx_connect(struct frame_tx *tx, int fd, bool is_socket)
{
    pthread_mutex_lock(&tx->lock);
    forget(tx);
    tx->fd = fd;
    tx->is_socket = is_socket;
    tx->can_splice = splice_supported(fd);
    tx->connection++;
    pthread_mutex_unlock(&tx->lock);
}

void frame_tx_disconnect(struct frame_tx *tx)
{
    pthread_mutex_lock(&tx->lock);
    forget(tx);
    tx->fd = -1;
    tx->connection++;
    pthread_mutex_unlock(&tx->lock);
}

void frame_tx_forget_pings(struct frame_tx *tx)
{
    pthread_mutex_lock(&tx->lock);
    tx->n_pongs = 0;
    pthread_mutex_unlock(&tx->lock);
}

void frame_tx_set_clock(struct frame_tx *tx, const struct guest_clock *clock)
{
    pthread_mutex_lock(&tx->clock_lock);
    tx->clock = *clock;
    pthread_mutex_unlock(&tx->clock_lock);
}

uint64_t frame_tx_now(struct frame_tx *tx)
{
    uint64_t now;

    pthread_mutex_lock(&tx->clock_lock);
    now = guest_clock_now(&tx->clock);
    pthread_mutex_unlock(&tx->clock_lock);
    return now;
}

/* The functions below require the lock. */

static int write_pending(struct frame_tx *tx)
{
    while (tx->pending_size > 0) {
        ssize_t n = tx->is_socket
                        ? send(tx->fd, tx->pending, tx->pending_size, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : write(tx->fd, tx->pending, tx->pending_size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return -errno;
        tx->pending += n;
        tx->pending_size -= (size_t)n;
    }
    if (tx->reader) {
        queue_take(&tx->reader->queue, tx->reader_pages);
        reader_has_room(tx->reader);
        tx->reader = NULL;
    }
    return 1;
}

static void seal(struct frame_tx *tx, struct proto_out *out, enum proto_type type, uint16_t flags,
                 uint32_t unpacked)
{
    proto_frame_seal(out->start, (uint16_t)type, flags, (uint32_t)(out->len - PROTO_HEADER_SIZE),
                     unpacked, tx->sequence++);
    tx->pending = out->start;
    tx->pending_size = out->len;
}

/* Writes the frame in progress, then the pongs that wait. */
static int pump(struct frame_tx *tx)
{
    int r = write_pending(tx);

    while (r > 0 && tx->n_pongs > 0) {
        struct proto_out out = proto_begin(tx->small, sizeof tx->small);
        struct proto_pong pong = {.ping = tx->pongs[0].ping, .came = tx->pongs[0].came};

        tx->n_pongs--;
        memmove(tx->pongs, tx->pongs + 1, tx->n_pongs * sizeof tx->pongs[0]);
        pong.monotonic_raw = clock_ns(CLOCK_MONOTONIC_RAW);
        pong.realtime = clock_ns(CLOCK_REALTIME);
        pong.sent = frame_tx_now(tx);
        proto_put_pong(&out, &pong);
        tx->spliced_before_pong = tx->spliced;
        tx->pong_is_sent = true;
        seal(tx, &out, PROTO_PONG, 0, (uint32_t)(out.len - PROTO_HEADER_SIZE));
        r = write_pending(tx);
    }
    return r;
}

int frame_tx_pump(struct frame_tx *tx)
{
    int r;

    pthread_mutex_lock(&tx->lock);
    r = tx->fd < 0 ? -ENOTCONN : pump(tx);
    pthread_mutex_unlock(&tx->lock);
    return r;
}

int frame_tx_send(struct frame_tx *tx, uint64_t connection, struct proto_out *out,
                  enum proto_type type, uint16_t flags, uint32_t unpacked)
{
    int r;

    if (out->full)
        return -E2BIG;
    pthread_mutex_lock(&tx->lock);
    r = tx->fd < 0 || tx->connection != connection ? -ENOTCONN : pump(tx);
    if (r == 0) {
        r = -EAGAIN;
    } else if (r > 0) {
        seal(tx, out, type, flags, unpacked);
        r = pump(tx);
    }
    pthread_mutex_unlock(&tx->lock);
    return r;
}

void frame_tx_allow_readers(struct frame_tx *tx, uint64_t connection, bool readers_may_send,
                            bool takes_unchecked)
{
    pthread_mutex_lock(&tx->lock);
    tx->readers_may_send = readers_may_send && tx->connection == connection && tx->fd >= 0;
    tx->may_splice = tx->readers_may_send && takes_unchecked && tx->can_splice;
    update_splice_size(tx);
    pthread_mutex_unlock(&tx->lock);
}

/* Starts a frame of READER's pages. Returns 0 if there are none. */
static int begin_pages(struct frame_tx *tx, struct reader *reader)
{
    size_t page_size = reader->queue.page_size;
    size_t most = MAX((PROTO_DATA_MAX - PROTO_DATA_ROOM) / page_size, (size_t)1);
    struct proto_data data = {.cpu = reader->cpu};
    struct proto_out out;
    uint8_t *pages;
    size_t held = queue_look(&reader->queue, &pages);

    if (held == 0)
        return 0;
    data.n_pages = (uint32_t)MIN(held, most);
    data.size = data.n_pages * page_size;
    data.first = atomic_load(&reader->queue.tail);
    out = proto_data_around(pages, &data);
    seal(tx, &out, PROTO_DATA, 0, (uint32_t)(out.len - PROTO_HEADER_SIZE));
    tx->reader = reader;
    tx->reader_pages = data.n_pages;
    return 1;
}

static int send_pages(struct frame_tx *tx, struct reader *reader, unsigned frames)
{
    int some = 0, r;

    do {
        r = pump(tx);
        if (r <= 0)
            return r < 0 ? r : -EAGAIN;
        if (frames == 0)
            return some;
        r = begin_pages(tx, reader);
        some |= r;
        frames--;
    } while (r > 0);
    return some;
}

int frame_tx_send_pages(struct frame_tx *tx, uint64_t connection, struct reader *reader,
                        unsigned frames)
{
    int r = -ENOTCONN;

    pthread_mutex_lock(&tx->lock);
    if (tx->fd >= 0 && tx->connection == connection)
        r = send_pages(tx, reader, frames);
    pthread_mutex_unlock(&tx->lock);
    return r;
}

static bool sink_send(void *userdata, struct reader *reader)
{
    struct frame_tx *tx = userdata;
    bool all;

    pthread_mutex_lock(&tx->lock);
    all = tx->readers_may_send && send_pages(tx, reader, READER_FRAMES_MAX) >= 0 &&
          queue_held(&reader->queue) == 0;
    pthread_mutex_unlock(&tx->lock);
    return all;
}

static size_t sink_splice_size(void *userdata, struct reader *reader)
{
    struct frame_tx *tx = userdata;

    (void)reader;
    return atomic_load_explicit(&tx->splice_size, memory_order_relaxed);
}

/* Continues a spliced frame after SENT bytes from READER's queue: with the rest of its pipe or, if that is LOST, with
 * pages that report the loss. */
static bool continue_from_queue(struct frame_tx *tx, struct reader *reader,
                                const struct proto_data *data, size_t sent, bool lost)
{
    size_t pages_sent = sent - MIN(sent, (size_t)PROTO_DATA_ROOM);
    uint8_t *pages = queue_free_pages(&reader->queue, data->n_pages);
    struct proto_out out;

    if (!pages)
        return false;
    if (lost)
        splice_fill_lost(&reader->buffer->page, pages, data->n_pages, frame_tx_now(tx));
    else if (splice_read(reader->pipe[0], pages + pages_sent, data->size - pages_sent) < 0)
        return false;
    for (uint32_t i = 0; i < data->n_pages; i++)
        queue_put(&reader->queue);
    tx->sequence--; /* the same number again */
    out = proto_data_around(pages, data);
    seal(tx, &out, PROTO_DATA, PROTO_UNCHECKED, (uint32_t)(out.len - PROTO_HEADER_SIZE));
    tx->pending += sent;
    tx->pending_size -= sent;
    tx->reader = reader;
    tx->reader_pages = data->n_pages;
    return true;
}

static bool splice_pages(struct frame_tx *tx, struct reader *reader, unsigned n_pages)
{
    struct proto_data data = {.cpu = reader->cpu,
                              .n_pages = n_pages,
                              .first = atomic_load(&reader->queue.tail),
                              .size = n_pages * reader->queue.page_size};
    struct proto_out out = proto_begin(tx->small, sizeof tx->small);
    size_t head, sent = 0;
    int r;

    if (!tx->may_splice || pump(tx) != 1)
        return false;
    proto_put_data(&out, &data);
    out.len += data.size; /* part of the frame, although not in this buffer */
    seal(tx, &out, PROTO_DATA, PROTO_UNCHECKED, (uint32_t)(out.len - PROTO_HEADER_SIZE));
    tx->pending_size = PROTO_DATA_ROOM;
    r = write_pending(tx);
    head = PROTO_DATA_ROOM - tx->pending_size;
    tx->pending_size = 0;
    if (r <= 0 && head == 0) {
        tx->sequence--; /* the frame was not started */
        return false;
    }
    if (r > 0)
        r = splice_out(reader->pipe[0], tx->fd, data.size, &sent);
    tx->spliced += sent;
    if (r == -ENOBUFS)
        tx->may_splice = tx->can_splice = false;
    update_splice_size(tx);
    if (r == 1) {
        queue_skip(&reader->queue, n_pages);
        return true;
    }
    return continue_from_queue(tx, reader, &data, head + sent, r == -ENOBUFS);
}

static bool sink_splice(void *userdata, struct reader *reader, unsigned n_pages)
{
    struct frame_tx *tx = userdata;
    bool done;

    pthread_mutex_lock(&tx->lock);
    done = splice_pages(tx, reader, n_pages);
    pthread_mutex_unlock(&tx->lock);
    return done;
}

void frame_tx_init(struct frame_tx *tx)
{
    *tx = (struct frame_tx){.fd = -1,
                            .clock = {.dir = -1},
                            .sink = {.send = sink_send,
                                     .splice_size = sink_splice_size,
                                     .splice = sink_splice,
                                     .userdata = tx,
                                     .splice_size_max = SPLICE_SIZE_READ}};
    pthread_mutex_init(&tx->lock, NULL);
    pthread_mutex_init(&tx->clock_lock, NULL);
}

void frame_tx_detach_readers(struct frame_tx *tx)
{
    pthread_mutex_lock(&tx->lock);
    tx->readers_may_send = false;
    tx->may_splice = false;
    update_splice_size(tx);
    tx->reader = NULL;
    if (tx->pending_size > 0) {
        uint8_t *copy = malloc(tx->pending_size);

        if (copy)
            memcpy(copy, tx->pending, tx->pending_size);
        else
            tx->pending_size = 0; /* the host detects the truncated frame */
        tx->pending = copy;
        free(tx->copy);
        tx->copy = copy;
    }
    pthread_mutex_unlock(&tx->lock);
}

bool frame_tx_pong(struct frame_tx *tx, const struct proto_ping *ping, uint64_t came)
{
    bool waits;

    pthread_mutex_lock(&tx->lock);
    if (tx->pong_is_sent) { /* W5 */
        tx->spliced_and_read = tx->spliced_before_pong;
        tx->pong_is_sent = false;
        update_splice_size(tx);
    }
    /* A host that does not wait for answers gets those to its last pings. */
    if (tx->n_pongs == FRAME_TX_PONGS)
        memmove(tx->pongs, tx->pongs + 1, --tx->n_pongs * sizeof tx->pongs[0]);
    tx->pongs[tx->n_pongs++] = (struct frame_tx_pong){*ping, came};
    waits = tx->fd >= 0 && pump(tx) != 1;
    pthread_mutex_unlock(&tx->lock);
    return waits;
}
