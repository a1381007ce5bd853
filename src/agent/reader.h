/* SPDX-License-Identifier: MIT */
#pragma once

/* A thread per CPU that moves pages of the kernel's ring into a bounded queue.
 *
 * It never waits for the host. When its queue is full it stops reading; then the kernel's ring, which is
 * bounded too, writes over its oldest pages and counts what that cost, exactly: in the next page that
 * is read and in per_cpu/cpuN/stats. So memory is bounded and no loss goes uncounted.
 *
 * When it reads: while the ring has whole pages, one after the other. When it has caught up with the
 * kernel it sleeps until the ring is filled to its watermark (the instance's buffer_percent, by poll(2))
 * or READER_PERIOD_MS have passed, and then takes partial pages too, so that nothing waits longer than
 * that. Draining (what a stop asks for) takes all that was in the ring when it began.
 *
 *   R1  Only the reader puts into its queue. Who takes from it (agent/queue.h) is one at a time: the sender, or the
 *       reader itself through `carry`, under a lock that is theirs.
 *   R2  `state` counts orders, too. It is set to STOPPED by the reader only from the very DRAINING that it has carried
 *       out, by a compare-exchange: so that neither a start that comes meanwhile is lost, nor a start and another stop, which
 *       wants more.
 *   R3  Whoever waits says so before it looks again: the reader sets `wants_room`, then looks at its
 *       queue; the sender takes, then looks at `wants_room`. One of them sees the other. The same
 *       holds for wakeup_signal() and wakeup_arm(). */

#include <pthread.h>

#include "agent/log.h"
#include "agent/queue.h"
#include "agent/tracefs.h"

#define READER_PERIOD_MS 100

/* Wakes a thread that polls. Rung by many, heard by one. */
struct wakeup {
    int fd; /* eventfd, never blocks */
    _Atomic bool armed;
};

int wakeup_init(struct wakeup *wakeup);
void wakeup_done(struct wakeup *wakeup);
/* Rings if it is armed: a system call only when somebody sleeps. */
void wakeup_signal(struct wakeup *wakeup);
/* Rings in any case. */
void wakeup_signal_always(struct wakeup *wakeup);
/* The listener, before it looks a last time whether there is work and sleeps in poll(2) on fd … */
void wakeup_arm(struct wakeup *wakeup);
/* … and behind its sleep. */
void wakeup_disarm(struct wakeup *wakeup);

struct reader;

enum reader_state {
    READER_STOPPED,
    READER_RUNNING,
    READER_DRAINING, /* becomes STOPPED by itself */
    READER_ENDING,
    READER_STATES,
};

/* What readers of one buffer have in common; outlives them. */
struct reader_buffer {
    int dir; /* the directory of the buffer: tracefs or an instance */
    struct tracefs_page page;
    size_t queue_bytes;
    uint64_t ring_pages; /* of the kernel's ring of a CPU, about */
    bool is_still;       /* nothing is written while it drains: it drains until the ring is empty */
    const struct agent_log *log;
    struct wakeup *sender; /* rung when there are pages, and when draining is done */
    /* What a reader calls in its own thread when it has some pages, and before it sleeps: sends them, if nobody
     * else is sending, and never waits. A switch of threads for each few pages costs more than sending them.
     * True: the queue is empty. False, or NULL: the sender is rung. */
    bool (*carry)(void *carrier, struct reader *reader);
    /* Whether whole pages may go there by a pipe now (agent/splice.h); then a reader whose queue is empty calls `pass` for N_PAGES
     * that are in its pipe. True: they are out, or in the queue; the pipe is empty. False: they are still in
     * the pipe. NULL: never. */
    bool (*splices)(void *carrier, struct reader *reader);
    bool (*pass)(void *carrier, struct reader *reader, unsigned n_pages);
    unsigned splice_most; /* pages at once */
    void *carrier;
};

struct reader {
    struct reader_buffer *buffer;
    uint32_t cpu;
    unsigned index; /* in its set (agent/readers.h) */
    pthread_t thread;
    _Atomic int tid;
    int fd;      /* trace_pipe_raw; -1: could not be opened (it is tried again) */
    int pipe[2]; /* for pages that are spliced; -1: not made yet */
    struct queue queue;
    struct wakeup wakeup;
    _Atomic unsigned state; /* enum reader_state + READER_STATES * number of the order */
    _Atomic bool wants_room;

    /* Counts, for anybody. */
    _Atomic uint64_t pages_read;
    _Atomic uint64_t times_full; /* how often it had to stop for want of room */
    _Atomic int error;           /* of the last read; 0: fine */

    /* The thread's own. */
    int last_told;
    unsigned unnotified; /* pages that nobody was told of */
    bool no_splice;      /* tracefs does not splice, or there are no pipes */
    bool wakes_early;    /* poll(2) knows no watermark (before Linux 6.1), or it is very low */
};

/* Starts the thread, bound to the CPU if that is possible. */
int reader_new(struct reader_buffer *buffer, uint32_t cpu, struct reader **ret_reader);
/* Ends the thread, within milliseconds. Pages that are still in the queue are lost. */
void reader_free(struct reader *reader);

void reader_start(struct reader *reader);
/* What is in the ring now still goes into the queue, as room allows. Does nothing to one that is stopped. */
void reader_stop(struct reader *reader);
static inline bool reader_is_stopped(struct reader *reader)
{
    return atomic_load(&reader->state) % READER_STATES == READER_STOPPED;
}

/* The sender has taken pages. */
void reader_has_room(struct reader *reader);

/* The time that the buffer's clock shows, and whether it is finer than microseconds, from
 * per_cpu/cpuN/stats: nanoseconds rounded down to microseconds, or ticks. */
int reader_clock(int dir, uint32_t cpu, uint64_t *ret_time);
