/* SPDX-License-Identifier: MIT */
#include "live/window.h"

#include <stdlib.h>
#include <string.h>

#include "trace/read.h"
#include "tracedir/manifest.h"

/* The first time to read. */
static int64_t find_begin(const struct live_window *window)
{
    return window->from < INT64_MIN + window->look_back ? INT64_MIN
                                                        : window->from - window->look_back;
}

void live_window_seek(struct live_window *window)
{
    trace_seek(window->trace, find_begin(window));
}

/* True if WINDOW->late names the source of ORIGIN. */
static bool is_named_late(const struct live_window *window, const struct origin *origin)
{
    const struct trace_input *input = &window->trace->inputs[trace_input_of(window->trace, origin)];
    const char *late = window->late;

    if (late && strcmp(late, LIVE_LATE_ANY) == 0)
        return true;
    for (size_t len; late && *late && input->recorded; late += len + (late[len] == ' ')) {
        len = strcspn(late, " ");
        if (strlen(input->recorded->name) == len && memcmp(late, input->recorded->name, len) == 0)
            return true;
    }
    return false;
}

int live_window_open(struct live_window *window)
{
    struct trace_options options = {0};
    bool any = false;
    int r;

    window->trace = NULL;
    window->n_left_out = 0;
    window->n_items = 0;
    error_clear(&window->error);
    if (window->options)
        options = *window->options;
    options.host_time = options.leave_out_unrelated = options.is_live = true;
    options.reader.keep_going = true;
    r = trace_open(&window->dir, 1, &options, &window->trace, &window->error);
    if (r < 0)
        return r;
    window->n_left_out = window->trace->n_missing;
    for (unsigned i = 0; i < window->trace->n_inputs; i++)
        any |= window->is_last || !window->trace->inputs[i].is_left_out;
    for (unsigned i = 0; i < window->trace->catalogue.n_origins; i++)
        window->trace->catalogue.origins[i]->is_live =
            is_named_late(window, window->trace->catalogue.origins[i]);
    if (!any)
        return error_set(&window->error, -EAGAIN, window->dir,
                         "none of its sources can be put on a timeline yet");
    live_window_seek(window);
    return 0;
}

/* Puts the items of the look-back and the window to SINK. A negative errno is SINK's. */
static int put_all(struct live_window *window, struct trace_reading *reading, struct sink *sink)
{
    const struct item *items;
    int n, r = 0;

    while (r == 0 && (n = trace_reading_next(reading, &items)) > 0) {
        for (int i = 0; i < n; i++)
            window->n_items += items[i].time > window->from && !item_is_part_of_loss(&items[i]);
        r = sink_put(sink, items, (unsigned)n);
    }
    if (r == 0)
        window->error = reading->error;
    return r;
}

int live_window_put(struct live_window *window, struct sink *const *sinks, unsigned n)
{
    struct selection selection;
    struct tee_sink tee;
    struct trace_reading reading = {
        .trace = window->trace, .selection = &selection, .sink = &tee.sink, .has_sought = true};
    bool has_end = !window->is_last && window->to < INT64_MAX;
    int r = selection_init_times(&selection, find_begin(window) + 1,
                                 has_end ? window->to + 1 : INT64_MAX);

    if (r < 0)
        return r;
    tee_sink_init(&tee, sinks, n);
    sink_begin(&tee.sink);
    r = put_all(window, &reading, &tee.sink);
    if (r == 0)
        r = sink_finish(&tee.sink);
    trace_reading_done(&reading);
    selection_done(&selection);
    return r;
}

bool live_has_all(const char *late)
{
    return !late || strcmp(late, LIVE_LATE_ENDED) == 0;
}

bool live_window_is_late(const struct live_window *window, const struct origin *origin)
{
    const struct trace_input *input = &window->trace->inputs[trace_input_of(window->trace, origin)];

    return origin->is_live || origin->ended != 0 || !input->recorded ||
           (window->late && strcmp(window->late, LIVE_LATE_ENDED) == 0);
}

void live_window_done(struct live_window *window)
{
    window->trace = trace_free(window->trace);
}
