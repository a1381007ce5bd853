/* SPDX-License-Identifier: MIT */
#pragma once

/* The families of watch/families.h from the process that reads a recording under way (watch/watcher.h) to the recorder that
 * serves them. They go as lines, beside those of conditions:
 *
 *     metrics start                       first, of each process
 *     metrics begin
 *     metrics add UPDATE                  metrics/update.h, without the end of its line
 *     metrics end RESULT FROM TO CPU      of the window FROM to TO, ns; CPU: ns of the process's time since the last line
 *
 * The recorder adds the updates of a window when its end has come, all or none. So what a process had sent when it died is
 * right, and the next process goes on. A line has at most FAMILIES_LINE_MAX bytes with its newline. Not thread-safe. */

#include "live/window.h"
#include "metrics/metrics.h"

#define FAMILIES_LINE_MAX 4096u
#define FAMILIES_LINE_PREFIX "metrics "

/* What became of a window. */
enum families_result {
    FAMILIES_OK,
    FAMILIES_LATE,    /* reading it took longer than it lasted: the metrics fall behind */
    FAMILIES_PARTIAL, /* a source could not be read, not be put on the timeline yet, or was late */
    FAMILIES_FAILED,
    FAMILIES_IDLE, /* nothing had been written */
    FAMILIES_RESULTS,
};

/* ---- The process that reads ---- */

struct families_feed;

/* Lines go to OUT, which is borrowed; the first one now. -ENOMEM. */
int families_feed_new(int out, struct families_feed **ret);
/* What is open at the end of the recording counts, too. */
void families_feed_finish(struct families_feed *feed);
void families_feed_free(struct families_feed *feed);
/* WINDOW is open, and its items go into *RET_SINK. False: not those of this window. */
bool families_feed_begin(struct families_feed *feed, const struct live_window *window,
                         struct sink **ret_sink);
/* R: what live_window_put() returned. The window is still open. Also if begin() returned false. */
void families_feed_end(struct families_feed *feed, const struct live_window *window, int r);
/* A window in which no file has grown. */
void families_feed_idle(struct families_feed *feed, int64_t from, int64_t to);

/* ---- The recorder ---- */

struct families_reader;

/* Adds all families to METRICS, which is borrowed. -ENOMEM. */
int families_reader_new(struct metrics *metrics, struct families_reader **ret);
void families_reader_free(struct families_reader *reader);
/* A line without FAMILIES_LINE_PREFIX and its end. It is not trusted; false: it is not such a line, and no other of its window
 * counts. */
bool families_reader_line(struct families_reader *reader, const char *line);
/* Before the metrics are printed. NOW: CLOCK_MONOTONIC, ns. */
void families_reader_collect(struct families_reader *reader, uint64_t now);
