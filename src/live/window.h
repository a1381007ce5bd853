/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads what a running recording wrote in one window of time.
 *
 *     live_window_open()    opens the directory, shortly before the window
 *     live_window_put()     its items into sinks
 *     live_window_done()
 *
 * live/reader.h decides which windows are read, and when. Each window opens the trace again. So it uses new clock
 * pairs, new sources (a guest that rebooted) and the present beginnings of files, and keeps no guest data from one
 * window to the next. If a file states where its parts begin, it is read only from the window on.
 *
 * Times are on the trace's timeline, the host's CLOCK_MONOTONIC, in ns. A window has the items with from < time <= to,
 * so each item is in one of several contiguous windows. Items from `look_back` before the window come first, for begins
 * of spans and for states. A span belongs to the window in which it ends. So does a loss, whose time is its end. If a
 * loss begins and continues after the window, the window has a loss up to `to` as well (item->goes_on).
 *
 * The files are complete up to `to`, the moment of the last flush (tracedir/ask.h).
 *
 * Not thread-safe. */

#include "event/sink.h"
#include "trace/trace.h"

#define LIVE_LATE_ANY "?"   /* all sources, because the recorder cannot be asked */
#define LIVE_LATE_ENDED "*" /* no source, and none writes more: the recording has ended */

struct live_window {
    /* Set before it is opened; borrowed. */
    const char *dir;
    int64_t from, to;
    int64_t look_back; /* in ns */
    bool is_last;      /* the recording has ended; items later than `to` are in the window, too */
    /* Sources that may still bring events up to `to`: NULL for none, their names with blanks between, or LIVE_LATE_ANY
     * or LIVE_LATE_ENDED. It is unknown what a CPU of such a source did after its last event (origin->is_live). */
    const char *late;
    /* How the trace is opened, or NULL. `host_time`, `leave_out_unrelated` and `reader.keep_going` are always on. */
    const struct trace_options *options;

    /* Open between live_window_open() and live_window_done(), with its catalogue, origins and notes. NULL if there is
     * nothing to read. */
    struct trace *trace;
    /* Sources that are left out, because they cannot be read, or not yet related to the host's time. The notes of the
     * trace say why. */
    unsigned n_left_out;
    uint64_t n_items; /* of the window, without look-back and without losses that go on */
    /* Why there is no trace, or what stopped reading one of its sources; code 0: nothing. */
    struct error error;
};

/* 0: opened. -EAGAIN: nothing can be put on the timeline yet, because the recording has just begun; in the last window
 * this does not count as an error. Another negative errno: WINDOW->error says why. -ENOMEM is this process's own. Call
 * live_window_done() in any case. */
int live_window_open(struct live_window *window);
/* Makes a trace that was opened by others begin with the window or its look-back, as live_window_open() does. */
void live_window_seek(struct live_window *window);

/* Puts all items into each of N SINKS, between begin() and finish(). Returns 0 also if a source is damaged: then
 * `error` says so, and the items of the other sources were put. A negative errno is a sink's, whose error says more.
 * Call once per window. */
int live_window_put(struct live_window *window, struct sink *const *sinks, unsigned n);

/* True if no source of LATE writes more items of its window. */
bool live_has_all(const char *late);

/* True if events of ORIGIN may be missing up to the end of the window, because it is late or its recording has ended.
 * Then it is unknown what it did after its last event. */
bool live_window_is_late(const struct live_window *window, const struct origin *origin);

void live_window_done(struct live_window *window);
