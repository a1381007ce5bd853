/* SPDX-License-Identifier: MIT */
#pragma once

/* What is to be shown of a guest while it is collected, on its way from whoever takes it (the confined child of
 * record/agent/guest_child.h; of an old agent the collector) to the process that shows it. A socket pair of type SOCK_SEQPACKET
 * lies between them; a message is a head and up to LIVE_BYTES_MAX bytes:
 *
 *   LIVE_FILE_BEGIN  a path. A file of the guest's tracefs begins …
 *   LIVE_FILE_PUT    … goes on …
 *   LIVE_FILE_END    … and has ended
 *   LIVE_FACT        name, NUL, value
 *   LIVE_PAIR        struct guest_pair
 *   LIVE_BOOT        another kernel: what follows is of that
 *   LIVE_PAGES       of `cpu`, at `offset` of all the bytes of its pages; without bytes: what was before it never came
 *
 * Who shows may be slow, as a terminal is, and nobody waits for that: what the socket does not take is queued up to
 * LIVE_QUEUE_MAX bytes, and pages that have no room there are left out and counted; the next ones tell by their
 * offset. Files are not left out before LIVE_FILES_QUEUE_MAX. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_BYTES_MAX 32768u
#define LIVE_QUEUE_MAX ((size_t)8 << 20)
#define LIVE_FILES_QUEUE_MAX ((size_t)64 << 20)

enum live_kind {
    LIVE_FILE_BEGIN = 1,
    LIVE_FILE_PUT,
    LIVE_FILE_END,
    LIVE_FACT,
    LIVE_PAIR,
    LIVE_BOOT,
    LIVE_PAGES,
};

struct live_head {
    uint32_t kind, cpu;
    uint64_t offset;
};

struct live_message;

struct live_stream {
    int fd; /* -1: nothing is shown, or nobody is there any more */
    struct live_message *first, *last;
    size_t queued;     /* bytes */
    uint64_t *offsets; /* by CPU: of what comes next … */
    bool *gaps; /* … and whether something before that was left out, and nothing is behind it yet */
    uint64_t unshown; /* bytes of pages that were left out */
};

/* The two ends of such a pair, both not blocking: to send on, to receive from. -errno. */
int live_pair(int ret_ends[2]);

/* Takes FD over; -1: all of the following does nothing. -ENOMEM. */
int live_stream_init(struct live_stream *out, int fd);
void live_stream_done(struct live_stream *out);

void live_stream_put(struct live_stream *out, enum live_kind kind, const void *p, size_t size);
void live_stream_pages(struct live_stream *out, uint32_t cpu, const void *p, size_t size);
/* Another kernel: pages count from 0. */
void live_stream_part(struct live_stream *out);

/* Whether something waits for room in the socket; then live_stream_pump() when it is writable. */
static inline bool live_stream_waits(const struct live_stream *out)
{
    return out->fd >= 0 && out->first;
}
void live_stream_pump(struct live_stream *out);
/* The end: waits until all is sent, or nothing could be for MS. What is left then counts as unshown. */
void live_stream_drain(struct live_stream *out, unsigned ms);
