/* SPDX-License-Identifier: MIT */
#include "top/read.h"

#include "base/clock_ns.h"
#include "base/ticks.h"
#include "live/window.h"
#include "tracedir/manifest.h"

static int open_trace(const char *path, const struct trace_options *options, struct trace **ret,
                      struct error *error)
{
    struct trace_options with = *options;
    int r;

    with.reader.keep_going = true;
    with.stated_clocks = true; /* as while it was recorded; all of it would have to be read */
    /* What was not recorded here has no host whose time it could have. */
    with.host_time = manifest_probe(path);
    r = trace_open(&path, 1, &with, ret, error);
    if (r != -EINVAL || !with.host_time)
        return r;
    /* Nothing relates it to its host's clock: it has a timeline of its own. */
    with.host_time = false;
    error_clear(error);
    return trace_open(&path, 1, &with, ret, error);
}

int top_read_window(const char *path, const struct trace_options *options, struct top_model *model,
                    int64_t from, int64_t until, struct error *error)
{
    struct live_window window = {.from = from, .to = until};
    struct sink *const sinks[] = {&model->sink};
    int r = open_trace(path, options, &window.trace, error);

    if (r < 0)
        return r;
    r = top_model_begin(model, window.trace, from, until);
    if (r == 0) {
        window.look_back = top_model_look_back(
            model, clock_from_ns(&model->clock, TOP_LOOK_BACK_MAX_S * NSEC_PER_SEC));
        live_window_seek(&window);
        r = top_model_end(model, live_window_put(&window, sinks, 1));
    }
    if (r < 0)
        *error = model->sink.error;
    else if (window.error.code < 0)
        r = (*error = window.error).code;
    live_window_done(&window);
    return r;
}

int top_read_ends(const char *path, const struct trace_options *options, int64_t *ret_first,
                  int64_t *ret_last, struct clock *ret_clock, struct error *error)
{
    const struct item *items;
    int64_t first = TIME_UNKNOWN, last = TIME_UNKNOWN;
    struct trace *trace;
    int r = open_trace(path, options, &trace, error);

    if (r < 0)
        return r;
    while ((r = trace_next(trace, &items)) > 0)
        for (int i = 0; i < r; i++) {
            if (items[i].kind != ITEM_EVENT)
                continue;
            if (first == TIME_UNKNOWN)
                first = items[i].time;
            last = items[i].time;
        }
    if (trace->n_inputs > 0)
        *ret_clock = trace->inputs[0].origin->clock;
    if (r < 0)
        *error = trace->source->error;
    trace_free(trace);
    if (r < 0)
        return r;
    if (last == TIME_UNKNOWN)
        return -ENODATA;
    *ret_first = first;
    *ret_last = last;
    return 0;
}
