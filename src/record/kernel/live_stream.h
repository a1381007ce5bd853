/* SPDX-License-Identifier: MIT */
#pragma once

/* A kernel_sink that sends a kernel's trace to the live view (record/live/live_child.c) as packets (guest_channel.h). Its
 * owner is the confined child of a guest, or the collector itself for an agent that speaks the virtio-trace protocol.
 *
 * The view may be as slow as its terminal, but the sender never waits for it. Packets that the socket has no room for
 * are queued. At most LIVE_QUEUE_MAX bytes of pages are queued; further pages are dropped and counted, and the view
 * sees the gap by the next offset. At most LIVE_FILES_QUEUE_MAX bytes of files are queued; after that the stream
 * ends. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/kernel/guest_channel.h"

#define LIVE_QUEUE_MAX ((size_t)8 << 20)
#define LIVE_FILES_QUEUE_MAX ((size_t)64 << 20)

struct live_packet;

struct live_stream {
    struct packet_sink packets;
    int fd; /* -1: no view, or it has ended */
    struct live_packet *first, *last;
    size_t queued;     /* bytes */
    uint64_t *offsets; /* by CPU: where the next pages should begin */
    /* By CPU: pages before that offset were dropped, and no pages after them were sent. */
    bool *gaps;
    uint64_t unshown; /* bytes of dropped pages */
};

/* Creates the two non-blocking ends of a stream: to send, to receive. -errno. */
int live_pair(int ret_ends[2]);

/* Takes over FD; -1: the stream ignores all input. -ENOMEM. */
int live_stream_init(struct live_stream *stream, int fd);
void live_stream_done(struct live_stream *stream);

static inline struct kernel_sink *live_stream_sink(struct live_stream *stream)
{
    return &stream->packets.sink;
}

/* True if packets are queued. Then call live_stream_flush() when `fd` is writable. */
static inline bool live_stream_has_queued(const struct live_stream *stream)
{
    return stream->fd >= 0 && stream->first;
}
void live_stream_flush(struct live_stream *stream);
/* Ends the stream: sends the queue, until nothing can be sent for MS. The rest counts as unshown. */
void live_stream_drain(struct live_stream *stream, unsigned ms);
