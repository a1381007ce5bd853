/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a running recording, for conditions, metrics, strata top, report --follow and the page of strata serve.
 *
 *     live_reader_new()
 *     live_reader_step()    when live_reader_fd() is readable or at live_reader_due(), until it has ended
 *     live_reader_free()
 *
 * Each period, the reader asks the recorder to flush (tracedir/ask.h), and gives the window (live/window.h) between the
 * last flush and this one to its consumer. It never waits. Its rules:
 *
 *  LIVE-1 Windows are contiguous, and each item is in one window. The trace is opened again for each window, and read
 *         from the window's look-back on. The reader keeps nothing of it; engines that last from window to window use
 *         live/persistent_items.h.
 *  LIVE-2 If the recorder names a source as late or paused, events of the window may be missing. What its CPUs did
 *         after their last events is unknown. Events that arrive after their window was read are never given. A late
 *         source is noted once; a paused one is not.
 *  LIVE-3 If the recorder does not answer within LIVE_FLUSH_TIMEOUT_S, nothing is read, and it is asked again a period
 *         later. If it cannot be asked, for example another user's, the window ends LIVE_UNFLUSHED_S before now, and
 *         all sources are late.
 *  LIVE-4 If the reader is more than `behind_max_ns` behind, it skips the time before, and notes this once.
 *  LIVE-5 If no file has grown, the window is not opened, and the consumer's idle() is called.
 *  LIVE-6 After a window, nothing is read for `rest` times the CPU time that it took, and at least for a quarter of a
 *         period.
 *  LIVE-7 A source that begins later, or can be put on the timeline only later, is in the windows from then on. If no
 *         source can be opened, the window is not read, and the next window begins where it began.
 *  LIVE-8 After the recording has ended, the last window has everything in the files.
 *
 * Times are CLOCK_MONOTONIC in ns. Needs the memory of one open trace. Not thread-safe. */

#include "live/window.h"

#define LIVE_SINKS_MAX 16u
#define LIVE_FLUSH_TIMEOUT_S 10u
#define LIVE_UNFLUSHED_S 1u

/* A consumer has either grown(), or begin() and end(). */
struct live_consumer {
    void *arg;
    /* Called instead of opening a window when the files have grown, or IS_LAST. For consumers that read the trace
     * themselves. -EAGAIN if it cannot be read now; unless IS_LAST, it is called again a period later. Another negative
     * errno ends the reader. */
    int (*grown)(void *arg, bool is_last);
    /* Returns how many ns before a window items are needed. LATE: its late sources. NULL: 0. */
    int64_t (*look_back)(void *arg, const char *late);
    /* WINDOW is open, and its items follow. Stores up to N_MAX sinks in SINKS. Returns their number, or a negative
     * errno, which ends the reader. */
    int (*begin)(void *arg, const struct live_window *window, struct sink **sinks, unsigned n_max);
    /* Called after a successful begin(). R is the result of live_window_put(). A negative errno ends the reader. */
    int (*end)(void *arg, const struct live_window *window, int r);
    /* Called for a window in which no file has grown. NULL: such a window is opened like the others. */
    void (*idle)(void *arg, int64_t from, int64_t to);
    /* Reports what is wrong, once per kind. May be NULL. */
    void (*note)(void *arg, const char *text);
};

/* All borrowed. */
struct live_settings {
    const char *dir;
    const struct trace_options *options; /* may be NULL */
    const struct live_consumer *consumer;
    int64_t from; /* where the first window begins */
    uint64_t period_ns;
    bool splits;           /* a window longer than one and a half periods is divided */
    unsigned rest;         /* LIVE-6 */
    int64_t behind_max_ns; /* LIVE-4; 0: nothing is skipped */
    /* If the recorder cannot be asked: true if the directory is being recorded. NULL: it is, until the recorder has
     * answered once. */
    bool (*is_recorded)(void *arg);
    void *is_recorded_arg;
};

struct live_reader;

/* Copies SETTINGS. -ENOMEM. */
int live_reader_new(const struct live_settings *settings, struct live_reader **ret);
void live_reader_free(struct live_reader *reader);

/* Returns 1 if a window was given or the problem has changed, 0 if not yet, or a negative errno: -ENOMEM, or the
 * consumer's. */
int live_reader_step(struct live_reader *reader);
/* If it is readable, live_reader_step() has something to do. -1 if there is none. */
int live_reader_fd(const struct live_reader *reader);
/* When live_reader_step() has something to do; UINT64_MAX: never. */
uint64_t live_reader_due(const struct live_reader *reader);
/* Continues at once if live_reader_step() was not called for some time. Time skipped by LIVE-4 is not noted. */
void live_reader_resume(struct live_reader *reader);
/* Makes the next window the last one, even if the recording continues. */
void live_reader_stop(struct live_reader *reader);

bool live_reader_is_flushing(const struct live_reader *reader);
bool live_reader_has_ended(const struct live_reader *reader);
/* True if a part of a window could not be read. */
bool live_reader_has_failed(const struct live_reader *reader);
/* The problem of the last window, or NULL. */
const char *live_reader_problem(const struct live_reader *reader);
/* How long nothing is read after the last window, in ns. */
uint64_t live_reader_rest(const struct live_reader *reader);
