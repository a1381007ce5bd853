/* SPDX-License-Identifier: MIT */
#include "live/window.h"

#include <stdlib.h>
#include <string.h>

#include "tracedir/manifest.h"

/* Items later than the window that come one after the other before nothing else of it is expected. */
#define AFTER_MAX SOURCE_DISORDER_MAX

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
    trace_seek(ret->trace, window->from - window->look_back);
    return 0;
}

/* The part of N items that is of the window or of the look-back: from *START on, the number that is returned. */
static unsigned trim(struct watch_pass *pass, const struct item *items, unsigned n,
                     unsigned *n_after, unsigned *start)
{
    const struct watch_window *window = pass->window;
    unsigned first = 0, end;

    while (first < n && items[first].time <= window->from - window->look_back)
        first++;
    for (end = first; end < n && items[end].time <= window->to; end++)
        pass->n_items += items[end].time > window->from;
    *start = first;
    /* What follows one that is later may still be of the window: times of some sources step back a little. */
    *n_after = end == n ? 0 : *n_after + 1;
    return end - first;
}

/* Puts N items of a run into all sinks. */
static int put_run(struct watch_pass *pass, struct sink *const *sinks, unsigned n_sinks,
                   const struct item *items, unsigned n, unsigned *n_after)
{
    while (n > 0 && *n_after < AFTER_MAX) {
        unsigned start, length = trim(pass, items, n, n_after, &start);

        for (unsigned i = 0; length > 0 && i < n_sinks; i++) {
            int r = sink_put(sinks[i], items + start, length);

            if (r < 0)
                return r;
        }
        start += length;
        /* The one that ended the run is later than the window. */
        start += start < n;
        items += start;
        n -= start;
    }
    return 0;
}

int watch_window_put(struct watch_pass *pass, struct sink *const *sinks, unsigned n)
{
    const struct item *items;
    unsigned n_after = 0;
    int n_run = 1, r = 0;

    for (unsigned i = 0; i < n; i++)
        sink_begin(sinks[i]);
    while (r == 0 && n_after < AFTER_MAX && (n_run = trace_next(pass->trace, &items)) > 0)
        r = put_run(pass, sinks, n, items, (unsigned)n_run, &n_after);
    if (n_run < 0)
        pass->error = pass->trace->source->error;
    for (unsigned i = 0; r == 0 && i < n; i++)
        r = sink_finish(sinks[i]);
    return r;
}

bool watch_has_all(const char *late)
{
    return !late || strcmp(late, "*") == 0;
}

bool watch_pass_is_late(const struct watch_pass *pass, const struct origin *origin)
{
    const struct trace_input *input = &pass->trace->inputs[trace_input_of(pass->trace, origin)];
    const char *late = pass->window->late;

    if (origin->ended != 0 || !input->recorded || (late && strcmp(late, "*") == 0))
        return true;
    for (size_t len; late && *late; late += len + (late[len] == ' ')) {
        len = strcspn(late, " ");
        if (strlen(input->recorded->name) == len && memcmp(late, input->recorded->name, len) == 0)
            return true;
    }
    return false;
}

void watch_window_done(struct watch_pass *pass)
{
    pass->trace = trace_free(pass->trace);
}
