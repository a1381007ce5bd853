/* SPDX-License-Identifier: MIT */
#pragma once

/* The reader of a recording under way, for conditions, metrics, strata top, report --follow and the page of strata serve.
 *
 *     live_reader_new()
 *     live_reader_step()    each time that live_reader_fd() is readable or live_reader_due() has come, until it has ended
 *     live_reader_free()
 *
 * Each period, the reader asks the recorder to flush (tracedir/ask.h), and gives the window (live/window.h) between the last flush
 * and this one to its consumer. It never waits. Its rules:
 *
 *  LIVE-1 Windows follow each other, and have each item once. The trace is opened again for each, and is read from the window's
 *         look-back on. Nothing of it is kept here; engines that last from window to window are bound by live/persistent_items.h.
 *  LIVE-2 A source that the recorder names as late or as paused may not have brought all events of the window. What its CPUs did
 *         after their last events is unknown. Events that come after their window was read are not given any more.
 *         A late source is noted once; a paused one is not.
 *  LIVE-3 If the recorder does not answer within LIVE_FLUSH_TIMEOUT_S, nothing is read, and it is asked again a period later.
 *         If it cannot be asked, as another user's, the window ends LIVE_UNFLUSHED_S ago, and all sources are late.
 *  LIVE-4 What is longer ago than `behind_max_ns` is passed over, which is noted once.
 *  LIVE-5 If no file has grown, the window is not opened, and the consumer's idle() is called.
 *  LIVE-6 After a window, nothing is read for `rest` times the CPU time that it took, and at least for a quarter of a period.
 *  LIVE-7 A source that begins later, or can be put on the timeline later, is in the windows from then on. A window in which
 *         no source can be opened is not read: the next one begins where it did.
 *  LIVE-8 When the recording has ended, the last window has all that is in the files.
 *
 * Times are CLOCK_MONOTONIC in ns. Memory is that of one open trace. Not thread-safe. */

#include "live/window.h"

#define LIVE_SINKS_MAX 16u
#define LIVE_FLUSH_TIMEOUT_S 10u
#define LIVE_UNFLUSHED_S 1u

/* Either grown(), or begin() and end(). */
struct live_consumer {
    void *arg;
    /* Instead of a window that is opened: the files have grown, or IS_LAST. For what reads the trace itself. -EAGAIN: it cannot be
     * read now; it is called again a period later, if not IS_LAST. Another negative errno ends the reader. */
    int (*grown)(void *arg, bool is_last);
    /* How far before a window whose late sources are LATE items are needed, ns. NULL: 0. */
    int64_t (*look_back)(void *arg, const char *late);
    /* WINDOW is open, and its items follow: up to N_MAX sinks into SINKS. Their number, or a negative errno, which ends the
     * reader. */
    int (*begin)(void *arg, const struct live_window *window, struct sink **sinks, unsigned n_max);
    /* After begin() without an error. R: the result of live_window_put(). A negative errno ends the reader. */
    int (*end)(void *arg, const struct live_window *window, int r);
    /* A window in which no file has grown. NULL: such a window is given as the others are. */
    void (*idle)(void *arg, int64_t from, int64_t to);
    /* What is wrong, once per kind. May be NULL. */
    void (*note)(void *arg, const char *text);
};

/* All borrowed. */
struct live_settings {
    const char *dir;
    const struct trace_options *options; /* NULL: none */
    const struct live_consumer *consumer;
    int64_t from; /* where the first window begins */
    uint64_t period_ns;
    bool splits;   /* a window that is longer than a period and a half is given as several ones */
    unsigned rest; /* LIVE-6 */
    int64_t behind_max_ns; /* LIVE-4; 0: nothing is passed over */
    /* True if the directory is being recorded, when its recorder cannot be asked. NULL: it is until it has answered once. */
    bool (*is_recorded)(void *arg);
    void *is_recorded_arg;
};

struct live_reader;

/* SETTINGS are copied. -ENOMEM. */
int live_reader_new(const struct live_settings *settings, struct live_reader **ret);
void live_reader_free(struct live_reader *reader);

/* 1: a window was given, or what is wrong has changed; 0: not yet. A negative errno: -ENOMEM, or the consumer's. */
int live_reader_step(struct live_reader *reader);
/* Readable: step() has something to do. -1: none. */
int live_reader_fd(const struct live_reader *reader);
/* When step() has something to do; UINT64_MAX: never. */
uint64_t live_reader_due(const struct live_reader *reader);
/* Goes on at once, after step() was not called for some time. What LIVE-4 passes over is not noted. */
void live_reader_resume(struct live_reader *reader);
/* The next window is the last one, even if the recording goes on. */
void live_reader_stop(struct live_reader *reader);

bool live_reader_is_flushing(const struct live_reader *reader);
bool live_reader_has_ended(const struct live_reader *reader);
/* True if a part of a window could not be read. */
bool live_reader_has_failed(const struct live_reader *reader);
/* What is wrong with the last window; NULL: nothing. */
const char *live_reader_problem(const struct live_reader *reader);
/* How long nothing is read after the last window. */
uint64_t live_reader_rest(const struct live_reader *reader);
