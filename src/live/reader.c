/* SPDX-License-Identifier: MIT */
#include "live/reader.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "live/growth.h"
#include "tracedir/ask.h"

/* Problems, each of which is noted once. */
enum problem {
    LIVE_LATE,
    LIVE_UNREAD,
    LIVE_BEHIND,
    LIVE_PROBLEMS,
};

struct live_reader {
    struct live_settings settings;
    struct live_growth *growth;
    struct tracedir_flushing flush;
    int64_t from; /* begin of the next window */
    uint64_t due, rest;
    bool was_answered; /* the recorder has answered once */
    bool is_unread;    /* the files have grown since they were last opened */
    bool is_stopped, has_ended, has_failed;
    bool is_noted[LIVE_PROBLEMS];
    char problem[1200]; /* problem of the last window, or "" */
};

int live_reader_new(const struct live_settings *settings, struct live_reader **ret)
{
    struct live_reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return -ENOMEM;
    reader->settings = *settings;
    reader->from = settings->from;
    reader->flush.fd = -1;
    if (live_growth_new(settings->dir, &reader->growth) < 0) {
        free(reader);
        return -ENOMEM;
    }
    *ret = reader;
    return 0;
}

void live_reader_free(struct live_reader *reader)
{
    if (!reader)
        return;
    tracedir_flush_end(&reader->flush);
    live_growth_free(reader->growth);
    free(reader);
}

/* ---- What is wrong ---- */

static void report(struct live_reader *reader, enum problem problem)
{
    const struct live_consumer *consumer = reader->settings.consumer;

    if (reader->is_noted[problem])
        return;
    reader->is_noted[problem] = true;
    if (consumer->note)
        consumer->note(consumer->arg, reader->problem);
}

static void report_unread(struct live_reader *reader, const struct error *error)
{
    if (error->code == 0)
        return;
    reader->has_failed = true;
    error_print(error, reader->problem, sizeof reader->problem);
    report(reader, LIVE_UNREAD);
}

/* ---- A window ---- */

static int put_window(struct live_reader *reader, struct live_window *window)
{
    const struct live_consumer *consumer = reader->settings.consumer;
    struct sink *sinks[LIVE_SINKS_MAX];
    int n = consumer->begin(consumer->arg, window, sinks, LIVE_SINKS_MAX), r;

    if (n < 0)
        return n;
    r = live_window_put(window, sinks, (unsigned)n);
    report_unread(reader, &window->error);
    return consumer->end(consumer->arg, window, r);
}

/* Reads the window up to TO, of which the sources LATE may have more. -EAGAIN if it was not read, and is a part of the
 * next window. */
static int read_window(struct live_reader *reader, int64_t to, const char *late, bool is_last)
{
    const struct live_consumer *consumer = reader->settings.consumer;
    struct live_window window = {.dir = reader->settings.dir,
                                 .from = reader->from,
                                 .to = to,
                                 .is_last = is_last,
                                 .late = late,
                                 .options = reader->settings.options};
    int r;

    if (consumer->look_back)
        window.look_back = consumer->look_back(consumer->arg, late);
    r = live_window_open(&window);
    if (r >= 0) {
        reader->from = to;
        reader->is_unread = false;
        r = put_window(reader, &window);
    } else if (r == -EAGAIN || r == -ENOENT) {
        r = -EAGAIN; /* sources that have just begun */
    } else if (r != -ENOMEM) {
        if (!error_is_shortage(r))
            report_unread(reader, &window.error);
        r = -EAGAIN;
    }
    live_window_done(&window);
    return r;
}

/* Returns the end of the piece that begins at `from`. The last piece may be a little shorter or longer than the
 * others. */
static int64_t end_of_piece(const struct live_reader *reader, int64_t to)
{
    int64_t period = (int64_t)reader->settings.period_ns;

    return !reader->settings.splits || to - reader->from < period + period / 2
               ? to
               : reader->from + period;
}

static int report_grown(struct live_reader *reader, int64_t to, bool is_last)
{
    const struct live_consumer *consumer = reader->settings.consumer;
    int r = consumer->grown(consumer->arg, is_last);

    if (r == -EAGAIN)
        return 0;
    reader->from = to;
    reader->is_unread = false;
    return r;
}

/* Reads everything up to TO. The files have it, except the rest of the sources LATE. */
static int read_until(struct live_reader *reader, int64_t to, const char *late, bool is_last)
{
    const struct live_settings *settings = &reader->settings;
    int r = 0;

    if (to <= reader->from)
        return 0;
    if (settings->behind_max_ns > 0 && reader->from < to - settings->behind_max_ns) {
        snprintf(reader->problem, sizeof reader->problem,
                 "the recording could not be read for %" PRId64 " s",
                 (to - reader->from) / (int64_t)NSEC_PER_SEC);
        report(reader, LIVE_BEHIND);
        reader->from = to - settings->behind_max_ns;
    }
    /* The last window also says how the recording ended. */
    reader->is_unread |= live_growth_check(reader->growth) || is_last;
    if (!reader->is_unread && settings->consumer->idle) {
        settings->consumer->idle(settings->consumer->arg, reader->from, to);
        reader->from = to;
        return 0;
    }
    if (settings->consumer->grown)
        return reader->is_unread ? report_grown(reader, to, is_last) : 0;
    while (r >= 0 && reader->from < to) {
        int64_t end = end_of_piece(reader, to);

        r = read_window(reader, end, late, is_last && end == to);
    }
    return r == -EAGAIN ? 0 : r;
}

/* ---- All windows ---- */

static int end(struct live_reader *reader)
{
    reader->has_ended = true;
    return read_until(reader, (int64_t)clock_ns(CLOCK_MONOTONIC), LIVE_LATE_ENDED, true);
}

/* Handles that the recorder cannot be asked, or has refused. */
static int not_answered(struct live_reader *reader, int r)
{
    const struct live_settings *settings = &reader->settings;
    bool is_recorded;

    if (r == -EAGAIN && !reader->is_stopped)
        return 0;
    is_recorded = settings->is_recorded ? settings->is_recorded(settings->is_recorded_arg)
                                        : !reader->was_answered;
    if (!is_recorded || reader->is_stopped)
        return end(reader);
    if (r != -EACCES)
        return 0; /* it has just begun, or ends just now */
    return read_until(reader,
                      (int64_t)(clock_ns(CLOCK_MONOTONIC) - LIVE_UNFLUSHED_S * NSEC_PER_SEC),
                      LIVE_LATE_ANY, false);
}

/* Joins LATE and PAUSED with a blank. *RET points to one of them, or to *RET_BOTH, which the caller frees. -ENOMEM. */
static int join(const char *late, const char *paused, char **ret_both, const char **ret)
{
    if (late && paused && asprintf(ret_both, "%s %s", late, paused) < 0) {
        *ret_both = NULL;
        return -ENOMEM;
    }
    *ret = *ret_both ? *ret_both : late ? late : paused;
    return 0;
}

static int answered(struct live_reader *reader, int64_t to, const char *late, const char *paused)
{
    _cleanup_free_ char *both = NULL;
    const char *all;
    int r = join(late, paused, &both, &all);

    reader->was_answered = true;
    reader->has_ended = reader->is_stopped;
    if (r < 0)
        return r;
    r = read_until(reader, to, all, reader->has_ended);
    if (late && !reader->problem[0]) {
        snprintf(reader->problem, sizeof reader->problem,
                 "%s did not send its events in time; some of them may be missing", late);
        report(reader, LIVE_LATE);
    }
    return r;
}

/* LIVE-6. The step used USED ns of CPU time and began at BEGIN. */
static void rest(struct live_reader *reader, uint64_t begin, uint64_t used)
{
    const struct live_settings *settings = &reader->settings;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    reader->rest = MAX(settings->rest * used, settings->period_ns / 4);
    reader->due = MAX(begin + settings->period_ns, now + reader->rest);
    if (reader->has_ended)
        reader->due = UINT64_MAX;
}

/* Handles the answer, or, if R is negative, its absence. */
static int read_answer(struct live_reader *reader, int r, int64_t to, const char *late,
                       const char *paused)
{
    uint64_t begin = clock_ns(CLOCK_MONOTONIC), used = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    reader->problem[0] = '\0';
    if (r == -ETIMEDOUT) {
        snprintf(reader->problem, sizeof reader->problem, "the recorder does not answer");
        r = reader->is_stopped ? end(reader) : 0;
    } else {
        r = r < 0 ? not_answered(reader, r) : answered(reader, to, late, paused);
    }
    /* What a window needed in memory is not kept for the next. */
    malloc_trim(0);
    rest(reader, begin, clock_ns(CLOCK_THREAD_CPUTIME_ID) - used);
    return r < 0 ? r : 1;
}

int live_reader_step(struct live_reader *reader)
{
    _cleanup_free_ char *late = NULL, *paused = NULL;
    uint64_t now = clock_ns(CLOCK_MONOTONIC), to = 0;
    int r;

    if (reader->has_ended)
        return 0;
    if (reader->flush.fd < 0) {
        if (now < reader->due)
            return 0;
        r = tracedir_flush_begin(&reader->flush, reader->settings.dir);
        if (r < 0)
            return read_answer(reader, r, 0, NULL, NULL);
        reader->due = now + LIVE_FLUSH_TIMEOUT_S * NSEC_PER_SEC;
        return 0;
    }
    r = tracedir_flush_step(&reader->flush, &to, &late, &paused);
    if (r == 0 && now < reader->due)
        return 0;
    tracedir_flush_end(&reader->flush);
    return read_answer(reader, r == 0 ? -ETIMEDOUT : r, (int64_t)to, late, paused);
}

int live_reader_fd(const struct live_reader *reader)
{
    return reader->flush.fd;
}

uint64_t live_reader_due(const struct live_reader *reader)
{
    return reader->due;
}

static void hurry(struct live_reader *reader)
{
    if (reader->flush.fd < 0 && !reader->has_ended)
        reader->due = 0;
}

void live_reader_resume(struct live_reader *reader)
{
    int64_t now = (int64_t)clock_ns(CLOCK_MONOTONIC);

    if (reader->settings.behind_max_ns > 0)
        reader->from = MAX(reader->from, now - reader->settings.behind_max_ns);
    hurry(reader);
}

void live_reader_stop(struct live_reader *reader)
{
    reader->is_stopped = true;
    hurry(reader);
}

bool live_reader_is_flushing(const struct live_reader *reader)
{
    return reader->flush.fd >= 0;
}

bool live_reader_has_ended(const struct live_reader *reader)
{
    return reader->has_ended;
}

bool live_reader_has_failed(const struct live_reader *reader)
{
    return reader->has_failed;
}

const char *live_reader_problem(const struct live_reader *reader)
{
    return reader->problem[0] ? reader->problem : NULL;
}

uint64_t live_reader_rest(const struct live_reader *reader)
{
    return reader->rest;
}
