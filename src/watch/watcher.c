/* SPDX-License-Identifier: MIT */
#include "watch/watcher.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "watch/evaluate.h"
#include "watch/families_feed.h"

/* Uses at most a tenth of a CPU, whatever is recorded, even if a format must be read from its beginning. */
#define REST 9u
/* If the watcher got no CPU, it skips time that is longer ago than this and than two periods. */
#define BEHIND_MAX_NS (60 * NSEC_PER_SEC)

struct watcher {
    const struct watch_settings *settings;
    struct watch_evaluator *evaluator;
    struct live_consumer consumer;
    struct live_reader *reader;
    bool is_stopped; /* the next window is the last one */
    bool is_over;    /* nobody reads the lines */
};

/* ---- Lines ---- */

/* Writes a line after replacing bytes that would end it or control a terminal by blanks. A long line is cut before its
 * newline. */
static void write_line(struct watcher *watcher, char *line, int len)
{
    size_t n = MIN((size_t)MAX(len, 0), (size_t)WATCH_LINE_MAX - 2);
    ssize_t written;

    for (size_t i = 0; i < n; i++)
        if ((uint8_t)line[i] < ' ' || line[i] == 0x7f)
            line[i] = ' ';
    line[n] = '\n';
    if (watcher->settings->out < 0)
        return;
    do
        written = write(watcher->settings->out, line, n + 1);
    while (written < 0 && errno == EINTR);
    /* Where nobody reads, there is nobody to watch for. */
    watcher->is_over |= written < 0 && errno != EAGAIN;
}

static void put_fired(void *arg, unsigned index, int64_t ns, const char *text)
{
    struct watcher *watcher = arg;
    char line[WATCH_LINE_MAX];

    write_line(watcher, line,
               snprintf(line, sizeof line, "fired %u %" PRId64 " %s: %s", index, ns,
                        watcher->settings->conditions[index].text, text));
}

static void put_problem(void *arg, unsigned index, const char *text)
{
    struct watcher *watcher = arg;
    char line[WATCH_LINE_MAX];

    write_line(watcher, line,
               snprintf(line, sizeof line, "problem %u %s: %s", index,
                        watcher->settings->conditions[index].text, text));
}

static void put_note(void *arg, const char *text)
{
    struct watcher *watcher = arg;
    char line[WATCH_LINE_MAX];

    write_line(watcher, line, snprintf(line, sizeof line, "problem - %s", text));
}

/* ---- A window ---- */

static int64_t look_back(void *arg, const char *late)
{
    const struct watcher *watcher = arg;

    return watch_evaluator_look_back(watcher->evaluator, late);
}

static int begin(void *arg, const struct live_window *window, struct sink **sinks, unsigned n_max)
{
    struct watcher *watcher = arg;
    int r = watch_evaluator_begin(watcher->evaluator, window, &sinks[0]);

    (void)n_max;
    if (r < 0)
        return r;
    return watcher->settings->feed &&
                   families_feed_begin(watcher->settings->feed, window, &sinks[1])
               ? 2
               : 1;
}

/* What failed here may succeed in the next window. */
static int end(void *arg, const struct live_window *window, int r)
{
    struct watcher *watcher = arg;

    if (watcher->settings->feed)
        families_feed_end(watcher->settings->feed, window, r);
    r = watch_evaluator_end(watcher->evaluator, r);
    return r == -ENOMEM ? r : 0;
}

static void idle(void *arg, int64_t from, int64_t to)
{
    struct watcher *watcher = arg;

    watch_evaluator_idle(watcher->evaluator, from, to);
    if (watcher->settings->feed)
        families_feed_idle(watcher->settings->feed, from, to);
}

/* ---- All windows ---- */

/* Waits until the reader has something to do. */
static void wait_for_reader(struct watcher *watcher)
{
    struct pollfd fds[] = {{live_reader_fd(watcher->reader), POLLIN, 0},
                           {watcher->settings->stop, POLLIN, 0},
                           {watcher->settings->out, 0, 0}};
    uint64_t now = clock_ns(CLOCK_MONOTONIC), due = live_reader_due(watcher->reader);
    uint64_t ns = due > now ? due - now : 0;
    const struct timespec time = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

    /* The last window is on its way. */
    if (watcher->is_stopped)
        fds[1].fd = -1;
    if (ppoll(fds, ARRAY_SIZE(fds), &time, NULL) <= 0)
        return;
    watcher->is_over |= fds[2].revents != 0;
    if (fds[1].revents != 0) {
        watcher->is_stopped = true;
        live_reader_stop(watcher->reader);
    }
}

static int init(struct watcher *watcher)
{
    const struct watch_settings *settings = watcher->settings;
    const struct watch_report fired = {put_fired, put_problem, watcher};
    uint64_t period = settings->period_ns ? settings->period_ns : WATCH_PERIOD_NS;
    const struct live_settings live = {
        .dir = settings->dir,
        .options = settings->options,
        .consumer = &watcher->consumer,
        .from = (int64_t)settings->since,
        .period_ns = period,
        .rest = REST,
        .behind_max_ns = (int64_t)MAX(BEHIND_MAX_NS, 2 * MIN(period, (uint64_t)INT64_MAX / 2)),
    };
    int r = watch_evaluator_new(settings->conditions, settings->n_conditions, &fired,
                                &watcher->evaluator);

    watcher->consumer = (struct live_consumer){.arg = watcher,
                                               .look_back = look_back,
                                               .begin = begin,
                                               .end = end,
                                               .idle = idle,
                                               .note = put_note};
    return r < 0 ? r : live_reader_new(&live, &watcher->reader);
}

int watch_run(const struct watch_settings *settings)
{
    struct watcher watcher = {.settings = settings};
    int r = init(&watcher);

    while (r >= 0 && !watcher.is_over && !live_reader_has_ended(watcher.reader)) {
        r = live_reader_step(watcher.reader);
        if (r >= 0 && !live_reader_has_ended(watcher.reader))
            wait_for_reader(&watcher);
    }
    live_reader_free(watcher.reader);
    watch_evaluator_free(watcher.evaluator);
    return r < 0 ? r : 0;
}
