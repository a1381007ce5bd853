/* SPDX-License-Identifier: MIT */
#include "top/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "tracedir/is_recorded.h"
#include "tracedir/manifest.h"

/* Uses at most a tenth of a CPU. */
#define REST 9u

static const struct clock monotonic = {.name = "monotonic", .hz = NANOSECONDS};

/* Returns the earliest begin of a source, or INT64_MIN if unknown. */
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

static bool is_recorded(void *arg)
{
    struct top_driver *driver = arg;

    return tracedir_is_recorded(driver->path, driver->trace_options->runtime_dir,
                                &driver->recorder);
}

/* ---- A running recording ---- */

static int64_t look_back(void *arg, const char *late)
{
    const struct top_driver *driver = arg;

    (void)late;
    return top_model_look_back(&driver->model, (int64_t)(TOP_LOOK_BACK_MAX_S * NSEC_PER_SEC));
}

static int begin_window(void *arg, const struct live_window *window, struct sink **sinks,
                        unsigned n_max)
{
    struct top_driver *driver = arg;
    int r;

    (void)n_max;
    driver->model.is_final = window->is_last;
    r = top_model_begin(&driver->model, window->trace, window->from, window->to);
    sinks[0] = &driver->model.sink;
    return r < 0 ? r : 1;
}

static int end_window(void *arg, const struct live_window *window, int r)
{
    struct top_driver *driver = arg;

    (void)window;
    return top_model_end(&driver->model, r);
}

static int open_reader(struct top_driver *driver)
{
    int64_t span = (int64_t)(driver->period_ns * driver->span);
    struct live_settings settings = {
        .dir = driver->path,
        .options = driver->trace_options,
        .consumer = &driver->consumer,
        .from = MAX(find_begin(driver->path), (int64_t)clock_ns(CLOCK_MONOTONIC) - span),
        .period_ns = driver->period_ns,
        .splits = true,
        .rest = REST,
        .behind_max_ns = span + (int64_t)driver->period_ns,
        .is_recorded = is_recorded,
        .is_recorded_arg = driver,
    };

    driver->consumer = (struct live_consumer){
        .arg = driver, .look_back = look_back, .begin = begin_window, .end = end_window};
    return live_reader_new(&settings, &driver->reader);
}

int top_driver_init(struct top_driver *driver, const char *path, pid_t recorder,
                    const struct trace_options *options, uint64_t period_ns)
{
    *driver = (struct top_driver){
        .path = path,
        .trace_options = options,
        .period_ns = period_ns,
        .span = (unsigned)MIN(MAX(TOP_SPAN_NS / period_ns, UINT64_C(1)), (uint64_t)TOP_WINDOWS),
        .recorder = recorder,
    };
    top_model_init(&driver->model);
    driver->is_live = is_recorded(driver);
    return driver->is_live ? open_reader(driver) : 0;
}

void top_driver_done(struct top_driver *driver)
{
    live_reader_free(driver->reader);
    top_model_done(&driver->model);
}

static void note_problem(struct top_driver *driver)
{
    const char *problem = live_reader_problem(driver->reader);
    uint64_t rest = live_reader_rest(driver->reader);

    snprintf(driver->warning, sizeof driver->warning, "%s", problem ? problem : "");
    if (!problem && rest > driver->period_ns && driver->model.n > driver->span) {
        char a[24], b[24];

        snprintf(driver->warning, sizeof driver->warning, "reading takes %s: done every %s",
                 duration_text(a, sizeof a, &monotonic, rest / REST),
                 duration_text(b, sizeof b, &monotonic, rest));
    }
}

static int step_live(struct top_driver *driver, struct error *error)
{
    int r = live_reader_step(driver->reader);

    if (r == 0)
        return 0;
    if (r < 0)
        return driver->model.sink.error.code < 0 ? (*error = driver->model.sink.error, r)
                                                 : error_set(error, r, NULL, "%s", error_text(r));
    note_problem(driver);
    if (live_reader_has_ended(driver->reader)) {
        live_reader_free(driver->reader);
        driver->reader = NULL;
        driver->is_live = false;
        driver->has_ended = true;
    }
    return 1;
}

/* ---- A complete trace ---- */

/* Reads the last windows until UNTIL, each of PERIOD, at most as many as the numbers cover. */
static int read_last(struct top_driver *driver, int64_t until, int64_t begin, int64_t period,
                     struct error *error)
{
    struct top_model *model = &driver->model;
    int64_t most = period * (int64_t)driver->span;
    int64_t from = begin < until - most - period ? until - most : begin;
    int r = 0;

    while (r >= 0 && from < until) {
        /* The last one is a little shorter, or longer. */
        int64_t to = until - from < period + period / 2 ? until : from + period;

        model->is_final = to == until;
        r = top_read_window(driver->path, driver->trace_options, model, from, to, error);
        from = to;
    }
    return r;
}

static int read_finished(struct top_driver *driver, struct error *error)
{
    struct clock clock = monotonic;
    int64_t first, last, period;
    int r = top_read_ends(driver->path, driver->trace_options, &first, &last, &clock, error);

    driver->has_ended = true;
    if (r == -ENODATA)
        return 1;
    if (r < 0)
        return r;
    if (clock.hz == 0)
        return error_set(error, -EINVAL, driver->path,
                         "the rate of its clock is unknown; use 'strata stat'");
    period = MAX(clock_from_ns(&clock, driver->period_ns), 1);
    r = read_last(driver, last, first > INT64_MIN ? first - 1 : first, period, error);
    return r < 0 ? r : 1;
}

/* ---- Both ---- */

int top_driver_step(struct top_driver *driver, struct error *error)
{
    if (driver->has_ended)
        return 0;
    return driver->reader ? step_live(driver, error) : read_finished(driver, error);
}

int top_driver_fd(const struct top_driver *driver)
{
    return driver->reader ? live_reader_fd(driver->reader) : -1;
}

uint64_t top_driver_due(const struct top_driver *driver)
{
    if (driver->has_ended)
        return UINT64_MAX;
    return driver->reader ? live_reader_due(driver->reader) : 0;
}

bool top_driver_is_flushing(const struct top_driver *driver)
{
    return driver->reader && live_reader_is_flushing(driver->reader);
}

void top_driver_resume(struct top_driver *driver)
{
    if (driver->reader)
        live_reader_resume(driver->reader);
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
