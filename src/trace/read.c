/* SPDX-License-Identifier: MIT */
#include "trace/read.h"

#include "event/select_put.h"
#include "timeline/read_ahead.h"
#include "trace/late_losses.h"

/* What is selected of the items of a run is asked for again until it is empty. */

static int fail_memory(struct trace_reading *reading)
{
    return error_set(&reading->error, -ENOMEM, NULL, "out of memory");
}

/* Keeps the error of sink_put(). */
static int fail_sink(struct trace_reading *reading, const struct sink *sink, int r)
{
    if (sink->error.code)
        reading->error = sink->error;
    return error_set(&reading->error, r, NULL, "out of memory");
}

/* Notes whether the trace has events, and when, before they are selected. */
static void note_items(struct trace_reading *reading, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n && !reading->has_events; i++) {
        reading->has_events = items[i].kind == ITEM_EVENT;
        reading->first_time = items[i].time;
        reading->clock = items[i].origin->clock;
    }
    for (unsigned i = n; i > 0; i--)
        if (items[i - 1].kind == ITEM_EVENT) {
            reading->last_time = items[i - 1].time;
            break;
        }
}

/* Reports the losses that began before the first selected item and have not ended. */
static int report_losses_before(struct trace_reading *reading)
{
    const struct selection *selection = reading->selection;
    int r = 0;

    for (unsigned i = 0; i < reading->open_losses.n && selection->started && r >= 0; i++) {
        const struct open_loss *open = &reading->open_losses.items[i];
        const struct item loss = open_loss_item(open, selection->from);
        const struct item begin = open_loss_begin(open);

        if (open->cpu != CPU_UNKNOWN && open->since < selection->from &&
            selection_has_loss_after(reading->selection, &loss))
            r = sink_begin_loss(reading->sink, &begin);
    }
    return r;
}

/* Reports the begins of selected losses at items that are not selected. */
static int report_loss_begins(struct trace_reading *reading, const struct item *items, unsigned n)
{
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++)
        if (unlikely(items[i].before_loss) &&
            selection_has_loss_after(reading->selection, &items[i]))
            r = sink_begin_loss(reading->sink, &items[i]);
    return r;
}

/* Puts losses of the left-out CPUs seen so far, before items at TIME. */
static int put_unselected(struct trace_reading *reading, int64_t time)
{
    int r = unselected_cpus_put(&reading->unselected_cpus, reading->unselected_sink, time);

    return r < 0 ? fail_sink(reading, reading->unselected_sink, r) : 0;
}

/* Notes losses of a run: in the items skipped before the next N_SELECTED items, and in these. 0, -ENOMEM. */
static int note_losses(struct trace_reading *reading, const struct item *skipped,
                       unsigned n_skipped, unsigned n_selected, bool is_full)
{
    const struct selection *selection = reading->selection;
    int r = reading->sink ? report_loss_begins(reading, skipped, n_skipped) : 0;

    if (r == 0 && reading->sink)
        r = select_pass(selection, skipped, n_skipped, is_full, reading->sink);
    if (r == 0)
        r = open_losses_put(&reading->open_losses, selection, skipped, n_skipped, is_full);
    if (r == 0 && n_selected > 0 && !reading->has_begun) {
        reading->has_begun = true;
        r = reading->sink ? report_losses_before(reading) : 0;
    }
    if (r == 0)
        r = open_losses_put(&reading->open_losses, selection, skipped + n_skipped, n_selected,
                            false);
    if (r == 0 && unlikely(reading->unselected_sink != NULL))
        r = unselected_cpus_note(&reading->unselected_cpus, selection, skipped, n_skipped);
    return r;
}

static bool has_selected(const struct trace_reading *reading, const struct item *items, unsigned n)
{
    const struct selection *selection = reading->selection;

    for (unsigned i = 0; i < n; i++)
        if (items[i].kind == ITEM_EVENT &&
            (!selection->of_rows || selection_has_time(selection, items[i].time)))
            return true;
    return false;
}

/* Lends the next selected items of the current run, as trace_reading_next(). 0 at the end of the run. */
static int next_of_run(struct trace_reading *reading, const struct item **ret_items)
{
    unsigned skipped = reading->i, at = reading->i;
    bool is_full = reading->selection->left == 0;
    int n =
        selection_next_run(reading->selection, reading->items, reading->n, &at, &reading->error);

    if (n < 0)
        return error_set(&reading->error, n, NULL, "out of memory");
    if (n == 0)
        at = reading->n;
    if (note_losses(reading, reading->items + skipped, at - skipped, (unsigned)n, is_full) < 0)
        return fail_memory(reading);
    reading->i = at + (unsigned)n;
    if (n == 0)
        return 0;
    *ret_items = reading->items + at;
    reading->has_selected |=
        !reading->has_selected && has_selected(reading, *ret_items, (unsigned)n);
    if (unlikely(reading->unselected_sink != NULL)) {
        int r = put_unselected(reading, (*ret_items)->time);

        if (r < 0)
            return r;
    }
    reading->last_selected = reading->items[reading->i - 1].time;
    return n;
}

/* Gets the time before which no item is needed. False while it is unknown. */
static bool get_start(const struct trace_reading *reading, int64_t *ret_time)
{
    const struct selection *selection = reading->selection;
    bool is_known = selection_start(selection, ret_time);

    if (reading->only_end) {
        bool has_end = selection->options->to.given && selection->started;
        int64_t end = has_end ? selection->to - (selection->to > INT64_MIN) : INT64_MAX;

        *ret_time = is_known && has_end ? MAX(*ret_time, end) : end;
        return true;
    }
    if (!reading->has_from || (selection->options->from.given && !is_known))
        return is_known;
    *ret_time = is_known ? MAX(*ret_time, reading->from) : reading->from;
    return true;
}

static int start(struct trace_reading *reading)
{
    struct trace *trace = reading->trace;

    reading->is_started = true;
    if (late_losses_find(trace, reading->selection, &reading->open_losses) < 0)
        return fail_memory(reading);
    if (trace->ahead && !open_losses_wait(&reading->open_losses))
        read_ahead_select(trace->ahead, reading->selection);
    return 0;
}

/* Makes the trace lend its next run. 1, 0 if no further run is needed, or a negative errno. */
static int next_run(struct trace_reading *reading)
{
    struct trace *trace = reading->trace;
    int64_t from;
    int r = 0;

    if (reading->n > 0 && !reading->has_sought && get_start(reading, &from)) {
        reading->has_sought = true;
        trace_seek(trace, from);
    }
    reading->n = reading->i = 0;
    if (selection_is_over(reading->selection))
        return 0;
    if (reading->hooks && reading->hooks->before)
        r = reading->hooks->before(reading->arg, &reading->error);
    if (r != 0)
        return MIN(r, 0);
    r = trace_next(trace, &reading->items);
    if (r < 0)
        reading->error = trace->source->error;
    if (r <= 0)
        return r;
    reading->n = (unsigned)r;
    note_items(reading, reading->items, reading->n);
    if (reading->hooks && reading->hooks->see)
        reading->hooks->see(reading->arg, reading->items, reading->n);
    return 1;
}

/* Notes losses that are known only after the last run. */
static int end(struct trace_reading *reading)
{
    struct trace *trace = reading->trace;
    int r = late_losses_read(trace, reading->selection, &reading->open_losses);

    reading->is_over = true;
    trace_stop_ahead(trace);
    if (r < 0 && trace->source->error.code)
        reading->error = trace->source->error;
    return r < 0 ? error_set(&reading->error, r, NULL, "out of memory") : 0;
}

/* Lends the selected part of the next loss that reaches beyond the selection. */
static int next_open_loss(struct trace_reading *reading, const struct item **ret_items)
{
    struct selection *selection = reading->selection;
    bool is_full = selection->options->limited && selection->left == 0;
    int64_t last = is_full              ? reading->last_selected
                   : selection->of_rows ? MIN(reading->last_time, selection->to - 1)
                                        : selection->to - 1;

    if (open_losses_take(&reading->open_losses, selection, last, &reading->open_loss)) {
        *ret_items = &reading->open_loss;
        return 1;
    }
    return reading->unselected_sink && reading->has_selected
               ? put_unselected(reading, reading->last_selected)
               : 0;
}

int trace_reading_next(struct trace_reading *reading, const struct item **ret_items)
{
    int r = reading->is_started ? 0 : start(reading);

    while (r >= 0 && !reading->is_over) {
        r = reading->i < reading->n ? next_of_run(reading, ret_items) : 0;
        if (r != 0)
            break;
        r = next_run(reading);
        if (r == 0)
            r = end(reading);
    }
    if (r == 0)
        r = next_open_loss(reading, ret_items);
    if (r < 0) {
        reading->is_over = true;
        trace_stop_ahead(reading->trace);
        open_losses_done(&reading->open_losses);
    }
    return r;
}

int trace_read(struct trace_reading *reading)
{
    const struct item *items;
    int r;

    while ((r = trace_reading_next(reading, &items)) > 0) {
        int put = sink_put(reading->sink, items, (unsigned)r);

        if (put < 0) {
            r = fail_sink(reading, reading->sink, put);
            break;
        }
    }
    trace_stop_ahead(reading->trace);
    return r;
}

void trace_reading_done(struct trace_reading *reading)
{
    open_losses_done(&reading->open_losses);
    unselected_cpus_done(&reading->unselected_cpus);
}
