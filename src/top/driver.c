/* SPDX-License-Identifier: MIT */
#include "top/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "tracedir/is_recorded.h"
#include "tracedir/manifest.h"

/* Where the recorder does not say up to when all is in the files: this long ago. */
#define UNFLUSHED_NS NSEC_PER_SEC
#define FLUSH_TIMEOUT_NS (3 * NSEC_PER_SEC)
/* After a window, this many times as long as it took nothing is done. */
#define IDLE_SHARE 10u

static const struct clock monotonic = {.name = "monotonic", .hz = NANOSECONDS};

/* The earliest moment at which a source began; INT64_MIN: not known. */
static int64_t find_begin(const char *path)
{
    struct manifest manifest = {0};
    int64_t began = INT64_MIN;

    if (manifest_read(path, &manifest, NULL) < 0)
        return began;
    for (unsigned i = 0; i < manifest.n_sources; i++) {
        int64_t ns = manifest.sources[i].began.monotonic_ns;

        if (ns > 0 && (began == INT64_MIN || ns < began))
            began = ns;
    }
    manifest_done(&manifest);
    return began;
}

static bool is_recorded(struct top_driver *driver)
{
    return tracedir_is_recorded(driver->path, driver->trace_options->runtime_dir,
                                &driver->recorder);
}

void top_driver_init(struct top_driver *driver, const char *path, pid_t recorder,
                     const struct trace_options *options, uint64_t period_ns)
{
    *driver = (struct top_driver){
        .path = path,
        .trace_options = options,
        .period_ns = period_ns,
        .span = (unsigned)MIN(MAX(TOP_SPAN_NS / period_ns, UINT64_C(1)), (uint64_t)TOP_WINDOWS),
        .recorder = recorder,
        .flush.fd = -1,
    };
    top_model_init(&driver->model);
    driver->is_live = is_recorded(driver);
    driver->began = find_begin(path);
}

void top_driver_done(struct top_driver *driver)
{
    tracedir_flush_end(&driver->flush);
    top_model_done(&driver->model);
}

static void warn(struct top_driver *driver, const struct error *error, int r)
{
    if (error->code < 0)
        error_print(error, driver->warning, sizeof driver->warning);
    else
        snprintf(driver->warning, sizeof driver->warning, "%s", strerror(-r));
}

/* Reads what is between the last window and UNTIL, in windows of a PERIOD, at most as many as numbers are of. IS_FINAL: nothing
 * follows. */
static int read_until(struct top_driver *driver, int64_t until, int64_t begin, int64_t period,
                      bool is_final, struct error *error)
{
    bool is_live = driver->is_live;
    struct top_model *model = &driver->model;
    int64_t from = model->until != TIME_UNKNOWN ? model->until : begin;
    int64_t most = period * (int64_t)driver->span;
    int r = 0;

    if (until - begin < 0 || until <= from)
        return 0;
    if (from < until - most - period)
        from = until - most;
    while (r >= 0 && from < until) {
        /* The last one is a little shorter, or longer. */
        int64_t to = until - from < period + period / 2 ? until : from + period;

        model->is_final = is_final && to == until;
        r = is_live
                ? top_read_live_window(driver->path, driver->trace_options, model, from, to, error)
                : top_read_window(driver->path, driver->trace_options, model, from, to, error);
        from = to;
    }
    return r;
}

/* All at once: the last windows of a trace that is complete. */
static int read_finished(struct top_driver *driver, struct error *error)
{
    struct clock clock = monotonic;
    int64_t first, last, period;
    int r = top_read_ends(driver->path, driver->trace_options, &first, &last, &clock, error);

    driver->state = TOP_ENDED;
    driver->due_ns = UINT64_MAX;
    if (r == -ENODATA)
        return 1;
    if (r < 0)
        return r;
    if (clock.hz == 0)
        return error_set(error, -EINVAL, driver->path,
                         "the rate of its clock is not known; use 'strata stat'");
    period = MAX(clock_from_ns(&clock, driver->period_ns), 1);
    r = read_until(driver, last, first > INT64_MIN ? first - 1 : first, period, true, error);
    return r < 0 ? r : 1;
}

/* UNTIL: all that was recorded by then is in the files. */
static int read_live(struct top_driver *driver, int64_t until, bool is_final, const char *late)
{
    struct error error = {0};
    uint64_t begin = clock_ns(CLOCK_MONOTONIC), took;
    int64_t earliest = MAX(driver->began, until - (int64_t)(driver->period_ns * driver->span));
    int r;

    driver->model.late = late;
    r = read_until(driver, until, earliest, (int64_t)driver->period_ns, is_final, &error);

    driver->model.late = NULL;
    took = clock_ns(CLOCK_MONOTONIC) - begin;
    driver->warning[0] = '\0';
    driver->due_ns = begin + MAX(driver->period_ns, took * IDLE_SHARE);
    if (r == -EAGAIN || r == -ENOENT)
        return 1;
    if (r < 0 || error.code < 0) {
        warn(driver, &error, r);
    } else if (late) {
        snprintf(driver->warning, sizeof driver->warning,
                 "did not send its latest events in time: %s", late);
    } else if (took * IDLE_SHARE > driver->period_ns && driver->model.n > driver->span) {
        char a[24], b[24];

        snprintf(driver->warning, sizeof driver->warning, "reading takes %s: done every %s",
                 duration_text(a, sizeof a, &monotonic, took),
                 duration_text(b, sizeof b, &monotonic, took * IDLE_SHARE));
    }
    return 1;
}

static int end_live(struct top_driver *driver, uint64_t now)
{
    int r = read_live(driver, (int64_t)now, true, NULL);

    driver->is_live = false;
    driver->state = TOP_ENDED;
    driver->due_ns = UINT64_MAX;
    return r;
}

static int begin_live(struct top_driver *driver, uint64_t now)
{
    if (tracedir_flush_begin(&driver->flush, driver->path) >= 0) {
        driver->state = TOP_FLUSHING;
        driver->due_ns = now + FLUSH_TIMEOUT_NS;
        return 0;
    }
    if (!is_recorded(driver))
        return end_live(driver, now);
    return read_live(driver, (int64_t)(now - UNFLUSHED_NS), false, NULL);
}

int top_driver_step(struct top_driver *driver, uint64_t now, struct error *error)
{
    _cleanup_free_ char *late = NULL;
    uint64_t until = 0;
    int r;

    switch (driver->state) {
    case TOP_ENDED: return 0;
    case TOP_IDLE:
        if (now < driver->due_ns)
            return 0;
        return driver->is_live ? begin_live(driver, now) : read_finished(driver, error);
    case TOP_FLUSHING: break;
    }
    r = tracedir_flush_step(&driver->flush, &until, &late);
    if (r == 0 && now < driver->due_ns)
        return 0;
    tracedir_flush_end(&driver->flush);
    driver->state = TOP_IDLE;
    if (r < 0 && !is_recorded(driver))
        return end_live(driver, now);
    return read_live(driver, (int64_t)(r > 0 ? until : now - UNFLUSHED_NS), false, late);
}

void top_driver_resume(struct top_driver *driver, uint64_t now)
{
    if (driver->state == TOP_IDLE)
        driver->due_ns = now;
}

void top_driver_view(const struct top_driver *driver, struct top_view *view)
{
    view->model = &driver->model;
    view->path = driver->path;
    view->is_live = driver->is_live;
    view->recorder = driver->recorder;
    view->period_ns = driver->period_ns;
    view->span = driver->span;
    view->warning = driver->warning[0] ? driver->warning : NULL;
}
