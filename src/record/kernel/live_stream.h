/* SPDX-License-Identifier: MIT */
#pragma once

/* A kernel_sink that sends a kernel's trace to the live view (record/live/view.c) as packets (guest_channel.h). Its owner
 * is the confined child of a guest, or the collector itself for an agent of the virtio-trace protocol.
 *
 * The view may be as slow as the terminal that it writes to, but the sender never waits for it. Packets that the socket has
 * no room for are queued: of pages up to LIVE_QUEUE_MAX bytes, later ones are dropped and counted, and the view sees the
 * gap by the next offset. Of files up to LIVE_FILES_QUEUE_MAX, after which the stream ends. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/kernel/guest_channel.h"

#define LIVE_QUEUE_MAX ((size_t)8 << 20)
#define LIVE_FILES_QUEUE_MAX ((size_t)64 << 20)

struct live_packet;

struct live_stream {
    struct packet_sink packets;
    int fd; /* -1: there is no view, or it has ended */
    struct live_packet *first, *last;
    size_t queued;     /* bytes */
    uint64_t *offsets; /* by CPU: where the next pages should begin … */
    bool *gaps; /* … and whether pages before that were dropped, and none after them was sent */
    uint64_t unshown; /* bytes of pages that were dropped */
};

/* Makes the two ends of a stream, neither of which blocks: to send on, to receive from. -errno. */
int live_pair(int ret_ends[2]);

/* Takes FD over; -1: the stream ignores what it is given. -ENOMEM. */
int live_stream_init(struct live_stream *stream, int fd);
void live_stream_done(struct live_stream *stream);

static inline struct kernel_sink *live_stream_sink(struct live_stream *stream)
{
    return &stream->packets.sink;
}

/* Whether packets are queued. If so, call live_stream_flush() when `fd` is writable. */
static inline bool live_stream_has_queued(const struct live_stream *stream)
{
    return stream->fd >= 0 && stream->first;
}
void live_stream_flush(struct live_stream *stream);
/* The end of the stream: sends what is queued, unless nothing can be sent for MS. The rest counts as unshown. */
void live_stream_drain(struct live_stream *stream, unsigned ms);
