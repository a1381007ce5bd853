/* SPDX-License-Identifier: MIT */
#include "agent/wire.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"

void wire_init(struct wire *wire)
{
    *wire = (struct wire){.fd = -1, .clock = {.dir = -1}};
    pthread_mutex_init(&wire->lock, NULL);
    pthread_mutex_init(&wire->clock_lock, NULL);
}

static void forget(struct wire *wire)
{
    wire->pending = NULL;
    wire->pending_size = 0;
    wire->n_pongs = 0;
    wire->sequence = 0;
}

void wire_connect(struct wire *wire, int fd, bool is_socket)
{
    pthread_mutex_lock(&wire->lock);
    forget(wire);
    wire->fd = fd;
    wire->is_socket = is_socket;
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
