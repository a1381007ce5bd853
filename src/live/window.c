/* SPDX-License-Identifier: MIT */
#include "live/window.h"

#include <stdlib.h>
#include <string.h>

#include "trace/read.h"
#include "tracedir/manifest.h"

/* The first time that is read. */
static int64_t find_begin(const struct watch_window *window)
{
    return window->from < INT64_MIN + window->look_back ? INT64_MIN
                                                        : window->from - window->look_back;
}

void watch_window_seek(struct watch_pass *pass)
{
    trace_seek(pass->trace, find_begin(pass->window));
}

int watch_window_open(const struct watch_window *window, struct watch_pass *ret)
{
    struct trace_options options = {0};
    bool any = false;
    int r;

    *ret = (struct watch_pass){.window = window};
    if (window->options)
        options = *window->options;
    options.host_time = options.leave_out_unrelated = options.is_live = true;
    options.reader.keep_going = true;
    r = trace_open(&window->dir, 1, &options, &ret->trace, &ret->error);
    if (r < 0)
        return r;
    ret->n_left_out = ret->trace->n_missing;
    for (unsigned i = 0; i < ret->trace->n_inputs; i++)
        any |= !ret->trace->inputs[i].is_left_out;
    if (!any)
        return error_set(&ret->error, -EAGAIN, window->dir,
                         "none of its sources can be put on a timeline yet");
    watch_window_seek(ret);
    return 0;
}

/* The items of the window and of the look-back into SINK. A negative errno: that of SINK. */
static int put_all(struct watch_pass *pass, struct trace_reading *reading, struct sink *sink)
{
    const struct item *items;
    int n, r = 0;

    while (r == 0 && (n = trace_reading_next(reading, &items)) > 0) {
        for (int i = 0; i < n; i++)
            pass->n_items += items[i].time > pass->window->from && !item_is_part_of_loss(&items[i]);
        r = sink_put(sink, items, (unsigned)n);
    }
    if (r == 0)
        pass->error = reading->error;
    return r;
}

int watch_window_put(struct watch_pass *pass, struct sink *const *sinks, unsigned n)
{
    const struct watch_window *window = pass->window;
    struct selection selection;
    struct tee_sink tee;
    struct trace_reading reading = {
        .trace = pass->trace, .selection = &selection, .sink = &tee.sink, .has_sought = true};
    int r = selection_init_times(&selection, find_begin(window) + 1,
                                 window->to < INT64_MAX ? window->to + 1 : INT64_MAX);

    if (r < 0)
        return r;
    tee_sink_init(&tee, sinks, n);
    sink_begin(&tee.sink);
    r = put_all(pass, &reading, &tee.sink);
    if (r == 0)
        r = sink_finish(&tee.sink);
    trace_reading_done(&reading);
    selection_done(&selection);
    return r;
}

bool watch_has_all(const char *late)
{
    return !late || strcmp(late, "*") == 0;
}

bool watch_is_late(const char *late, const char *name)
{
    if (late && strcmp(late, "*") == 0)
        return true;
    for (size_t len; late && *late; late += len + (late[len] == ' ')) {
        len = strcspn(late, " ");
        if (strlen(name) == len && memcmp(late, name, len) == 0)
            return true;
    }
    return false;
}

bool watch_pass_is_late(const struct watch_pass *pass, const struct origin *origin)
{
    const struct trace_input *input = &pass->trace->inputs[trace_input_of(pass->trace, origin)];

    return origin->ended != 0 || !input->recorded ||
           watch_is_late(pass->window->late, input->recorded->name);
}

void watch_window_done(struct watch_pass *pass)
{
    pass->trace = trace_free(pass->trace);
}
