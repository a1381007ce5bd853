/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads what the recordings of a trace directory have written in one window of time, while they go on.
 *
 *     watch_window_open()    opens the directory, shortly before the window
 *     watch_window_put()     its items into sinks
 *     watch_window_done()
 *
 * live/growth.h says whether there is anything new at all. Each window opens the trace again. So clock pairs that were added, sources that began (a guest that rebooted), and beginnings
 * of files that were released are right by construction, and nothing is kept of a guest's data from one window to the next.
 *
 * Times are those of the trace's timeline, the host's CLOCK_MONOTONIC in ns. A window has the items with from < time <= to, so
 * windows that follow each other have each item once. Items of `look_back` before it come first: for begins of spans, and for
 * states. What ends in the window is of the window. A loss counts by its end, as its time is; of one that has begun and goes on
 * after the window, there is a loss up to `to` as well (item->goes_on).
 *
 * `to` is a moment up to which all is in the files: that of the last flush (tracedir/ask.h).
 *
 * Not thread-safe. */

#include "event/sink.h"
#include "trace/trace.h"

struct watch_window {
    const char *dir;
    int64_t from, to;
    int64_t look_back; /* ns; 0: none */
    /* Sources of which events up to `to` may come still, by their names with blanks between. "*": any may. NULL: none. */
    const char *late;
    /* How the trace is opened; NULL: as it is without options. `host_time`, `leave_out_unrelated` and `reader.keep_going`
     * are on in any case. */
    const struct trace_options *options;
};

struct watch_pass {
    const struct watch_window *window;
    /* Open between watch_window_open() and watch_window_done(): its catalogue, origins and notes. NULL: there is nothing
     * to read. */
    struct trace *trace;
    /* Sources that are not in it: they cannot be related to the host's time yet, or cannot be read. The trace's notes say
     * why. */
    unsigned n_left_out;
    uint64_t n_items; /* of the window, without those before it and losses that go on */
    struct error
        error; /* why there is no trace, or what stopped reading one of its sources; code 0: nothing */
};

/* WINDOW is borrowed until watch_window_done(), which is to be called in any case. 0: opened; -EAGAIN: there is nothing yet that
 * can be put on the timeline (a recording that has just begun); another negative errno: RET->error says why not. -ENOMEM is
 * this process's own. */
int watch_window_open(const struct watch_window *window, struct watch_pass *ret);
/* What watch_window_open() does of a trace that is opened by others: has it begin where the window, or its look-back, does. */
void watch_window_seek(struct watch_pass *pass);

/* Puts all items into each of N SINKS, between begin() and finish(). 0, also where a source is damaged: `error` says so, and
 * the items of the others were put. A negative errno: that of a sink, whose error says more. Once per window. */
int watch_window_put(struct watch_pass *pass, struct sink *const *sinks, unsigned n);

/* Whether all that sources have of a window is in what is read of it, where LATE have more: those whose recording has ended
 * ("*") have no more. */
bool watch_has_all(const char *late);

/* Whether the source NAME is one of LATE (struct watch_window). */
bool watch_is_late(const char *late, const char *name);

/* Whether events of ORIGIN up to the end of the window may come still: it is late, or its recording has ended, which brings
 * nothing more. */
bool watch_pass_is_late(const struct watch_pass *pass, const struct origin *origin);

void watch_window_done(struct watch_pass *pass);
