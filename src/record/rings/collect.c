/* SPDX-License-Identifier: MIT */
#include "record/rings/collect.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "record/rings/recover.h"
#include "record/rings/rings_dir.h"

/* As long as it takes to fill a quarter of the ring that fills fastest, within these. */
#define SLEEP_MIN (NSEC_PER_MSEC / 5)
#define POLL_INTERVAL (2 * NSEC_PER_MSEC)
/* What lies in open packets is written as often as this. */
#define FLUSH (100 * NSEC_PER_MSEC)
#define SWEEP_INTERVAL NSEC_PER_SEC

/* ---- Taking over ---- */

/* What a collector that was killed had written to another directory, and not released, is cut off there:
 * it comes into ours. */
static void trim_other(struct process *process, const struct process_trace *trace)
{
    struct native *native;
    struct ring_drain *taker;

    if (native_complete(trace->path, trace->uuid, &native, NULL) < 0)
        return; /* it is gone */
    if (ring_drain_new(process, native, true, true, &taker, NULL) >= 0)
        ring_drain_free(taker);
    native_free(native);
}

static int open_native(struct process *process, const char *path, struct native **ret,
                       bool *ret_is_new, struct error *error)
{
    static const uint8_t none[16];
    const struct process_trace *trace = process_trace(process);
    _cleanup_free_ char *full = realpath(path, NULL);
    int r;

    if (trace && memcmp(trace->uuid, none, sizeof(none)) != 0) {
        if (full && strcmp(full, trace->path) == 0)
            return native_complete(trace->path, trace->uuid, ret, error);
        /* Another user could name any trace of ours. */
        if (process->is_ours)
            trim_other(process, trace);
    }
    r = native_of_process(process, path, ret, error);
    if (r >= 0)
        r = native_describe(*ret, &process->classes, error);
    if (r < 0)
        return r;
    *ret_is_new = true;
    return 0;
}

static int take(struct collector *collector, enum drain_mode how, struct error *error)
{
    if (collector->is_new)
        process_note_trace(collector->process, collector->native->path, collector->native->uuid);
    collector->is_new = false;
    return ring_drain_take(collector->taker, how, error);
}

static int check(const struct process *process, bool dead_too, struct error *error)
{
    int alive = process_is_alive(process, dead_too ? NULL : error);

    /* A recorder's own directory has processes that it has started and can see. A process that it cannot see is dead. */
    if (alive < 0 && !(dead_too && alive == -EXDEV))
        return dead_too ? process_is_alive(process, error) : alive;
    if (alive == 0 && !dead_too)
        return error_set(error, -ESRCH, process->path,
                         "process %u (%s) has ended; 'strata recover' saves what it left",
                         process->pid, process->program);
    if (__atomic_load_n(&process->file->flags, __ATOMIC_ACQUIRE) & PROCESS_WRITES)
        return error_set(error, -EBUSY, process->path,
                         "process %u (%s) writes its trace by itself; only a program that was "
                         "started with writer=none among its trace options can be attached to",
                         process->pid, process->program);
    return 0;
}

int collector_init(struct collector *ret, struct process *process, const char *path, bool dead_too,
                   struct error *error)
{
    /* In its own directory a recorder removes each when it has ended. */
    struct collector collector = {
        .process = process, .pidfd = -1, .sleep = SLEEP_MIN, .is_own = dead_too};
    int r = check(process, dead_too, error);

    if (r >= 0)
        r = process_lock(process, error);
    if (r >= 0)
        r = open_native(process, path, &collector.native, &collector.is_new, error);
    if (r >= 0)
        r = ring_drain_new(process, collector.native, true, true, &collector.taker, error);
    if (r < 0) {
        collector_done(&collector);
        return r;
    }
#ifdef SYS_pidfd_open
    long pid = process_find(process, NULL);

    if (pid > 0)
        collector.pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (collector.pidfd >= 0 && process_find(process, NULL) != pid) {
        close(collector.pidfd); /* it may be another's */
        collector.pidfd = -1;
    }
#endif
    *ret = collector;
    return 0;
}

void collector_done(struct collector *collector)
{
    ring_drain_free(collector->taker);
    native_free(collector->native);
    if (collector->pidfd >= 0)
        close(collector->pidfd);
    *collector = (struct collector){.pidfd = -1};
}

/* ---- Taking ---- */

static bool has_ended(const struct collector *collector)
{
    struct pollfd end = {collector->pidfd, POLLIN, 0};

    if (collector->pidfd < 0) {
        int alive = process_is_alive(collector->process, NULL);

        return alive == 0 || (alive == -EXDEV && collector->is_own);
    }
    return poll(&end, 1, 0) > 0;
}

static void adapt(struct collector *collector)
{
    double full;

    (void)ring_drain_taken(collector->taker, &full);
    if (full > 0.5)
        collector->sleep = 0;
    else if (full > 0.25)
        collector->sleep /= 2;
    else if (full < 0.02)
        collector->sleep *= 3;
    else if (full < 0.1)
        collector->sleep += collector->sleep / 2;
    if (full <= 0.5)
        collector->sleep = MIN(MAX(collector->sleep, SLEEP_MIN), POLL_INTERVAL);
    collector->is_quiet = full < 0.1 && collector->sleep == POLL_INTERVAL;
}

void collector_hurry(struct collector *collector)
{
    collector->sleep = SLEEP_MIN;
    collector->is_quiet = false;
}

/* The longer the trace, the better the clock's rate is known. */
static int finish(struct collector *collector, enum drain_mode how, struct error *error)
{
    int r = take(collector, how, error);

    if (r >= 0)
        r = native_refine(collector->native, process_clock_hz(collector->process, 0), error);
    return r;
}

int collector_step(struct collector *collector, uint64_t *ret_sleep, struct error *error)
{
    /* Asked before the rings are looked at: what was committed until then, is seen. */
    bool ended = has_ended(collector);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    int r;

    if (ended)
        return finish(collector, DRAIN_DEAD, error);
    if (!collector->is_own && now - collector->swept_at >= SWEEP_INTERVAL) {
        collector->swept_at = now;
        rings_dir_sweep_processes();
    }
    if (now - collector->flushed_at >= FLUSH) {
        collector->flushed_at = now;
        r = take(collector, DRAIN_OPEN, error);
    } else {
        r = take(collector, DRAIN_OFTEN, error);
    }
    if (r < 0)
        return r;
    adapt(collector);
    *ret_sleep = collector->sleep;
    return 1;
}

void collector_flush(struct collector *collector)
{
    collector->flushed_at = clock_ns(CLOCK_MONOTONIC);
    (void)take(collector, DRAIN_SAVE, NULL);
}

int collector_finish(struct collector *collector, struct error *error)
{
    return finish(collector, DRAIN_ALL, error);
}
