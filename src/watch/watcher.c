/* SPDX-License-Identifier: MIT */
#include "watch/watcher.h"

#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "live/growth.h"
#include "tracedir/ask.h"
#include "watch/evaluate.h"

#define SINKS_MAX 64u
/* After a window, for this many times as long as it took of a CPU nothing is done: it takes a tenth of one at most, whatever
 * is recorded, and whatever format has to be read from its beginning. */
#define IDLE_SHARE 9u
/* A window that is longer, and than two periods, as the watcher got no CPU, begins later: what it has not read is reported. */
#define WINDOW_MAX_NS (60 * NSEC_PER_SEC)

struct watcher {
    const struct watch_settings *settings;
    struct watch_evaluator *evaluator;
    struct watch_growth *growth;
    uint64_t period_ns;
    int64_t window_max;
    int64_t look_back;
    int64_t from;      /* where the next window begins */
    bool was_answered; /* the recorder has answered once */
    bool is_stopped;   /* one more window, up to now, is the last one */
    bool is_over;      /* there is nothing to go on with */
    bool is_late_told, is_unread_told, is_skip_told;
};

/* ---- Lines ---- */

/* Bytes that would end a line or control a terminal become blanks; the line is cut, not its newline. */
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

_printf_(3, 4) static void put_common_problem(struct watcher *watcher, bool *is_reported,
                                              const char *format, ...)
{
    char line[WATCH_LINE_MAX] = "problem - ";
    size_t len = strlen(line);
    va_list args;

    if (*is_reported)
        return;
    *is_reported = true;
    va_start(args, format);
    vsnprintf(line + len, sizeof line - len, format, args);
    va_end(args);
    write_line(watcher, line, (int)strlen(line));
}

/* ---- A window ---- */

struct sinks {
    struct sink *items[SINKS_MAX];
    unsigned n;
};

static int begin_all(struct watcher *watcher, const struct watch_pass *pass, struct sinks *sinks,
                     bool *has_begun)
{
    const struct watch_settings *settings = watcher->settings;
    int r = watch_evaluator_begin(watcher->evaluator, pass, &sinks->items[0]);

    if (r < 0)
        return r;
    sinks->n = 1;
    for (unsigned i = 0; i < settings->n_consumers; i++) {
        const struct watch_consumer *consumer = &settings->consumers[i];
        int n = sinks->n + WATCH_CONSUMER_SINKS > SINKS_MAX
                    ? -ENOMEM
                    : consumer->begin(consumer->arg, pass, &sinks->items[sinks->n],
                                      WATCH_CONSUMER_SINKS);

        has_begun[i] = n >= 0;
        sinks->n += n > 0 ? (unsigned)n : 0;
    }
    return 0;
}

static int end_all(struct watcher *watcher, const struct watch_pass *pass, const bool *has_begun,
                   int r)
{
    const struct watch_settings *settings = watcher->settings;

    for (unsigned i = 0; i < settings->n_consumers; i++)
        if (has_begun[i] && settings->consumers[i].end)
            settings->consumers[i].end(settings->consumers[i].arg, pass, r);
    return watch_evaluator_end(watcher->evaluator, pass, r);
}

static int read_pass(struct watcher *watcher, struct watch_pass *pass)
{
    _cleanup_free_ bool *has_begun =
        calloc(MAX(watcher->settings->n_consumers, 1u), sizeof *has_begun);
    struct sinks sinks = {.n = 0};
    int r = has_begun ? begin_all(watcher, pass, &sinks, has_begun) : -ENOMEM;

    if (r < 0)
        return r;
    r = watch_window_put(pass, sinks.items, sinks.n);
    r = end_all(watcher, pass, has_begun, r);
    if (pass->error.code < 0) {
        char what[600];

        error_print(&pass->error, what, sizeof what);
        put_common_problem(watcher, &watcher->is_unread_told, "what is recorded cannot be read: %s",
                           what);
    }
    return r;
}

static void idle_all(struct watcher *watcher, int64_t from, int64_t to)
{
    const struct watch_settings *settings = watcher->settings;

    watch_evaluator_idle(watcher->evaluator, from, to);
    for (unsigned i = 0; i < settings->n_consumers; i++)
        if (settings->consumers[i].idle)
            settings->consumers[i].idle(settings->consumers[i].arg, from, to);
}

/* The window up to TO, which is brought to the files, but for what is of LATE (struct watch_window). */
static int read_window(struct watcher *watcher, int64_t to, const char *late)
{
    struct watch_window window = {
        .dir = watcher->settings->dir,
        .from = watcher->from,
        .to = to,
        .look_back = MAX(watcher->look_back, watch_evaluator_look_back(watcher->evaluator, late)),
        .late = late,
        .options = watcher->settings->options};
    struct watch_pass pass;
    int r;

    if (to <= window.from)
        return 0;
    if (to - window.from > watcher->window_max) {
        put_common_problem(watcher, &watcher->is_skip_told,
                           "the recording could not be watched for %" PRId64 " s",
                           (to - window.from) / (int64_t)NSEC_PER_SEC);
        window.from = to - watcher->window_max;
    }
    watcher->from = to;
    if (!watch_growth_check(watcher->growth)) {
        idle_all(watcher, window.from, to);
        return 0;
    }
    r = watch_window_open(&window, &pass);
    if (r >= 0) {
        r = read_pass(watcher, &pass);
    } else if (r == -EAGAIN || r == -ENOENT) {
        /* Sources that have just begun: they will be read from where they are. */
        watcher->from = window.from;
    } else if (!error_is_shortage(r)) {
        char what[600];

        error_print(&pass.error, what, sizeof what);
        put_common_problem(watcher, &watcher->is_unread_told, "what is recorded cannot be read: %s",
                           what);
    }
    watch_window_done(&pass);
    /* What cannot be read now may be so in the next window. */
    return r == -ENOMEM ? r : 0;
}

/* ---- All windows ---- */

/* Has all brought to the files, and reads up to there. */
static int step(struct watcher *watcher)
{
    _cleanup_free_ char *late = NULL, *paused = NULL, *both = NULL;
    uint64_t now;
    int r = tracedir_flush(watcher->settings->dir, &now, &late, &paused);

    if (r == -ENOMEM)
        return r;
    if (r >= 0) {
        watcher->was_answered = true;
        if (late)
            put_common_problem(
                watcher, &watcher->is_late_told,
                "%s did not send its events in time; conditions may miss some of them", late);
        if (late && paused && asprintf(&both, "%s %s", late, paused) < 0)
            return -ENOMEM;
        return read_window(watcher, (int64_t)now, both ? both : late ? late : paused);
    }
    /* Before its first answer, the recorder may not have begun; after that, it has ended, and what is there is all. */
    if (!watcher->is_stopped && (r == -EAGAIN || !watcher->was_answered))
        return 0;
    watcher->is_over = true;
    return read_window(watcher, (int64_t)clock_ns(CLOCK_MONOTONIC), "*");
}

/* Until UNTIL (CLOCK_MONOTONIC, ns). */
static void wait_until(struct watcher *watcher, uint64_t until)
{
    struct pollfd fds[] = {{watcher->settings->stop, POLLIN, 0}, {watcher->settings->out, 0, 0}};
    uint64_t now;

    while (!watcher->is_over && !watcher->is_stopped && (now = clock_ns(CLOCK_MONOTONIC)) < until) {
        const struct timespec time = {(time_t)((until - now) / NSEC_PER_SEC),
                                      (long)((until - now) % NSEC_PER_SEC)};

        if (ppoll(fds, ARRAY_SIZE(fds), &time, NULL) <= 0)
            continue;
        watcher->is_over |= fds[1].revents != 0;
        watcher->is_stopped |= fds[0].revents != 0;
    }
}

static int init(struct watcher *watcher)
{
    const struct watch_settings *settings = watcher->settings;
    const struct watch_report report = {put_fired, put_problem, watcher};
    int r = watch_evaluator_new(settings->conditions, settings->n_conditions, &report,
                                &watcher->evaluator);

    if (r >= 0)
        r = watch_growth_new(settings->dir, &watcher->growth);
    if (r < 0)
        return r;
    watcher->period_ns = settings->period_ns ? settings->period_ns : WATCH_PERIOD_NS;
    watcher->window_max =
        (int64_t)MAX(WINDOW_MAX_NS, 2 * MIN(watcher->period_ns, (uint64_t)INT64_MAX / 2));
    watcher->look_back = watch_evaluator_look_back(watcher->evaluator, NULL);
    for (unsigned i = 0; i < settings->n_consumers; i++)
        watcher->look_back = MAX(watcher->look_back, settings->consumers[i].look_back);
    return 0;
}

int watch_run(const struct watch_settings *settings)
{
    struct watcher watcher = {.settings = settings};
    int r = init(&watcher);
    uint64_t next = clock_ns(CLOCK_MONOTONIC);

    watcher.from = (int64_t)settings->since;
    while (r >= 0 && !watcher.is_over) {
        uint64_t used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

        watcher.is_over = watcher.is_stopped;
        r = step(&watcher);
        /* What one window needed in memory is not kept for the next. */
        malloc_trim(0);
        used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
        next = MAX(next + watcher.period_ns,
                   clock_ns(CLOCK_MONOTONIC) + MAX(IDLE_SHARE * used, watcher.period_ns / 4));
        if (r >= 0)
            wait_until(&watcher, next);
    }
    watch_growth_free(watcher.growth);
    watch_evaluator_free(watcher.evaluator);
    return r;
}
