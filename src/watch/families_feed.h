/* SPDX-License-Identifier: MIT */
#pragma once

/* Sends the metrics of watch/families.h from the process that reads a running recording (watch/watcher.h) to the
 * recorder, which serves them. They are sent as lines, between the lines of conditions:
 *
 *     metrics start                       first, of each process
 *     metrics begin
 *     metrics add UPDATE                  metrics/update.h, without the end of its line
 *     metrics end RESULT FROM TO CPU      of the window FROM to TO, ns; CPU: ns of the process's time since the last line
 *
 * The recorder adds all updates of a window when its `end` arrives, or none. So the metrics are right if a process
 * dies, and the next process continues. A line has at most FAMILIES_LINE_MAX bytes including its newline. Not
 * thread-safe. */

#include "live/window.h"
#include "metrics/metrics.h"

#define FAMILIES_LINE_MAX 4096u
#define FAMILIES_LINE_PREFIX "metrics "

/* The result of a window. */
enum families_result {
    FAMILIES_OK,
    FAMILIES_LATE, /* reading it took longer than it lasted, so the metrics fall behind */
    /* A source could not be read, could not be put on the timeline yet, or was late. */
    FAMILIES_PARTIAL,
    FAMILIES_FAILED,
    FAMILIES_IDLE, /* no file had grown */
    FAMILIES_RESULTS,
};

/* ---- The reading process ---- */

struct families_feed;

/* Writes lines to OUT, which is borrowed; the first line at once. -ENOMEM. */
int families_feed_new(int out, struct families_feed **ret);
/* Ends the recording: spans and states that are open count, too. */
void families_feed_finish(struct families_feed *feed);
void families_feed_free(struct families_feed *feed);
/* Begins WINDOW, which is open. Its items go to *RET_SINK. False if the items of this window cannot be counted. */
bool families_feed_begin(struct families_feed *feed, const struct live_window *window,
                         struct sink **ret_sink);
/* Ends the window, which is still open; also after families_feed_begin() returned false. R is the result of
 * live_window_put(). */
void families_feed_end(struct families_feed *feed, const struct live_window *window, int r);
/* Passes a window in which no file has grown. */
void families_feed_idle(struct families_feed *feed, int64_t from, int64_t to);

/* ---- The recorder ---- */

struct families_reader;

/* Adds all families to METRICS, which is borrowed. -ENOMEM. */
int families_reader_new(struct metrics *metrics, struct families_reader **ret);
void families_reader_free(struct families_reader *reader);
/* Handles a line without FAMILIES_LINE_PREFIX and newline. Lines are not trusted. False if the line is malformed; then
 * its whole window does not count. */
bool families_reader_line(struct families_reader *reader, const char *line);
/* Call before printing the metrics. NOW: CLOCK_MONOTONIC, ns. */
void families_reader_collect(struct families_reader *reader, uint64_t now);
