/* SPDX-License-Identifier: MIT */
#pragma once

/* What a recording under way wrote in one window of time.
 *
 *     live_window_open()    opens the directory, shortly before the window
 *     live_window_put()     its items into sinks
 *     live_window_done()
 *
 * live/reader.h decides which windows are read, and when. Each window opens the trace again. So clock pairs that were added,
 * sources that began (a guest that rebooted), and beginnings of files that were released are right by construction, and
 * nothing is kept of a guest's data from one window to the next. Files that state where their parts begin are read from the window on.
 *
 * Times are those of the trace's timeline, the host's CLOCK_MONOTONIC in ns. A window has the items with from < time <= to, so
 * windows that follow each other have each item once. Items of `look_back` before it come first, for begins of spans and for
 * states. What ends in the window belongs to the window. A loss counts by its end, which is its time; of one that has begun and
 * goes on after the window, there is a loss up to `to` as well (item->goes_on).
 *
 * `to` is a moment up to which the files have everything: that of the last flush (tracedir/ask.h).
 *
 * Not thread-safe. */

#include "event/sink.h"
#include "trace/trace.h"

#define LIVE_LATE_ANY "?"   /* all of them, because the recorder cannot be asked */
#define LIVE_LATE_ENDED "*" /* none, and none brings anything later: the recording has ended */

struct live_window {
    /* Set before it is opened; borrowed. */
    const char *dir;
    int64_t from, to;
    int64_t look_back; /* ns; 0: none */
    bool is_last;      /* the recording has ended: what is later than `to` is in it, too */
    /* Sources that may still bring events up to `to`: NULL for none, their names with blanks between, or one of the words above.
     * What a CPU of such a source did after its last event is unknown (origin->is_live). */
    const char *late;
    /* How the trace is opened; NULL: without options. `host_time`, `leave_out_unrelated` and `reader.keep_going` are on in any
     * case. */
    const struct trace_options *options;

    /* Open between live_window_open() and live_window_done(): its catalogue, origins and notes. NULL: there is nothing to
     * read. */
    struct trace *trace;
    /* Sources that are not in it: they cannot be related to the host's time yet, or cannot be read. The trace's notes say
     * why. */
    unsigned n_left_out;
    uint64_t n_items; /* of the window, without those before it and losses that go on */
    struct error
        error; /* why there is no trace, or what stopped reading one of its sources; code 0: nothing */
};

/* live_window_done() is to be called in any case. 0: opened; -EAGAIN: nothing can be put on the timeline yet (a recording that
 * has just begun), which is no error of the last window; another negative errno: WINDOW->error says why not. -ENOMEM is
 * this process's own. */
int live_window_open(struct live_window *window);
/* What live_window_open() does of a trace that is opened by others: has it begin where the window, or its look-back, does. */
void live_window_seek(struct live_window *window);

/* Puts all items into each of N SINKS, between begin() and finish(). 0, also if a source is damaged: `error` says so, and the items
 * of the others were put. A negative errno: that of a sink, whose error says more. Once per window. */
int live_window_put(struct live_window *window, struct sink *const *sinks, unsigned n);

/* True if no source brings more of a window whose late sources are LATE. */
bool live_has_all(const char *late);

/* True if ORIGIN may lack events up to the end of the window: it is late, or its recording has ended. What it did after its
 * last event is then unknown. */
bool live_window_is_late(const struct live_window *window, const struct origin *origin);

void live_window_done(struct live_window *window);
