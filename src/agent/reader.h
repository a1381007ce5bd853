/* SPDX-License-Identifier: MIT */
#pragma once

/* A thread per CPU that moves pages from the kernel's ring buffer into a bounded queue.
 *
 * It never waits for the host. When its queue is full, it stops reading. Then the kernel's ring, which is bounded too,
 * overwrites its oldest pages and counts exactly what is lost, in the next page that is read and in per_cpu/cpuN/stats.
 * So memory is bounded and every loss is counted.
 *
 * While the ring has whole pages, the reader reads one after the other, or splices many at a time. When it has caught
 * up with the kernel, it sleeps until the ring is filled to its watermark (the instance's buffer_percent, by poll(2))
 * or a period has passed. After a period, it also reads the page that is being filled, so that no event waits longer
 * than that. A flush makes it read the content of the ring at once. The periods of all readers end at the same time, so
 * that the thread that takes the pages wakes once. A stop drains: the reader reads everything that was in the ring when
 * the stop was requested.
 *
 *   R1  Only the reader puts pages into its queue. One thread at a time takes them out (agent/queue.h): the sender, or
 *       the reader itself through its page_sink; both hold the sink's lock.
 *   R2  `state` also counts orders. The reader sets STOPPED by a compare-exchange from the same DRAINING that it has
 *       completed. So no start that comes meanwhile is lost, and neither are a start and a second stop, which must
 *       drain more.
 *   R3  A thread that is going to wait announces it before it checks again: the reader sets `wants_room`, then checks
 *       its queue; the sender takes pages, then checks `wants_room`. One of them sees the other. The same holds for
 *       wakeup_signal() and wakeup_arm().
 *   R4  A flush increases `flush_wanted`. The reader takes its value, reads everything that is in the ring at that
 *       moment, sets `flush_head`, and then sets `flushed` to the value that it took. So the pages in the queue below
 *       `flush_head` include everything that was in the ring when the flush was requested. */

#include <pthread.h>

#include "agent/log.h"
#include "agent/queue.h"
#include "agent/tracefs.h"

#define READER_PERIOD_MS 100
#define READER_LONG_PERIOD_MS 2000 /* for a host that wants to be woken rarely */
#define READER_HOLD_PERIOD_MS 5000 /* for a host that requests flushes: PROTO_WANT_HOLD */

/* Wakes the one thread that polls `fd`; any thread may signal. */
struct wakeup {
    int fd; /* eventfd, non-blocking */
    _Atomic bool armed;
};

int wakeup_init(struct wakeup *wakeup);
void wakeup_done(struct wakeup *wakeup);
/* Wakes the thread if it has armed: costs a system call only if it sleeps. */
void wakeup_signal(struct wakeup *wakeup);
/* Wakes the thread whether it has armed or not. */
void wakeup_signal_always(struct wakeup *wakeup);
/* The polling thread: arm before the last check for work and the sleep in poll(2), disarm after it. */
void wakeup_arm(struct wakeup *wakeup);
void wakeup_disarm(struct wakeup *wakeup);

struct reader;

enum reader_state {
    READER_STOPPED,
    READER_RUNNING,
    READER_DRAINING, /* becomes STOPPED when the ring is drained */
    READER_ENDING,
    READER_STATES,
};

/* By this, the readers of one buffer send their pages themselves, each in its own thread, because waking the sender for
 * every few pages costs more than sending them. No function waits. */
struct page_sink {
    /* Sends pages from READER's queue. Returns true if the queue is empty afterwards; otherwise the reader wakes the
     * sender. */
    bool (*send)(void *userdata, struct reader *reader);
    /* Returns how many bytes of whole pages may be spliced now, or one page if that is more (agent/splice.h); 0: none. */
    size_t (*splice_size)(void *userdata, struct reader *reader);
    /* Splices the N_PAGES that are in READER's pipe; its queue is empty. Returns true if they were sent or moved to the
     * queue, and the pipe is empty; false if they are still in the pipe. */
    bool (*splice)(void *userdata, struct reader *reader, unsigned n_pages);
    void *userdata;
    size_t splice_size_max; /* largest result of `splice_size` */
};

/* Shared by the readers of one trace buffer; must outlive them. */
struct reader_buffer {
    int dir; /* of the trace buffer: tracefs or an instance */
    struct tracefs_page page;
    size_t queue_bytes;
    uint64_t ring_pages;      /* approximate size of the kernel's ring per CPU */
    uint64_t watermark_pages; /* filled pages at which poll(2) returns; 0: unknown */
    /* no event is written while it drains, so a drain ends when the ring is empty */
    bool is_still;
    int period_ms; /* READER_PERIOD_MS, or one of the longer ones; set while no reader runs */
    const struct agent_log *log;
    struct wakeup *sender;        /* woken when there are pages, and when a drain is complete */
    const struct page_sink *sink; /* NULL: only the sender thread sends */
};

struct reader {
    struct reader_buffer *buffer;
    uint32_t cpu;
    unsigned index; /* in readers->list (agent/readers.h) */
    pthread_t thread;
    _Atomic int tid;
    int fd;      /* trace_pipe_raw; -1: not open, tried again later */
    int pipe[2]; /* for splicing; -1: not created yet */
    struct queue queue;
    struct wakeup wakeup;
    _Atomic unsigned state; /* enum reader_state + READER_STATES * order number */
    _Atomic bool wants_room;
    _Atomic unsigned flush_wanted,
        flushed; /* numbers of the last requested and the last completed flush (R4) */
    _Atomic uint64_t flush_head; /* number of the page after the last page of the flush */

    /* Statistics; any thread may read them. */
    _Atomic uint64_t pages_read;
    _Atomic uint64_t times_full; /* how often it stopped because its queue was full */
    _Atomic int error;           /* of the last read; 0: none */

    /* Only for the reader's thread. */
    int last_error;
    unsigned unsent; /* pages queued since the last send or wakeup */
    bool no_splice;  /* tracefs cannot be spliced, or no pipe could be created */
    /* poll(2) ignores the watermark (before Linux 6.1), or the watermark is very low */
    bool wakes_early;
};

/* Starts the thread, bound to CPU if possible. */
int reader_new(struct reader_buffer *buffer, uint32_t cpu, struct reader **ret_reader);
/* Ends the thread within milliseconds and frees. Pages in the queue are lost. */
void reader_free(struct reader *reader);

void reader_start(struct reader *reader);
/* Drains: the present content of the ring is still put into the queue, as room allows. No effect on a stopped
 * reader. */
void reader_stop(struct reader *reader);
static inline bool reader_is_stopped(struct reader *reader)
{
    return atomic_load(&reader->state) % READER_STATES == READER_STOPPED;
}

/* Makes a running reader read the content of the ring now, and then continue. */
void reader_flush(struct reader *reader);
/* True if the content of the ring at the last flush was taken from the queue, or if the reader is stopped. */
bool reader_is_flushed(struct reader *reader);

/* Call after taking pages from the queue: wakes the reader if it waits for room. */
void reader_has_room(struct reader *reader);

/* Reads the buffer's clock from per_cpu/cpuN/stats: nanoseconds rounded down to microseconds, or ticks. */
int reader_clock(int dir, uint32_t cpu, uint64_t *ret_time);
