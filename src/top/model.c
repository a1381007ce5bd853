/* SPDX-License-Identifier: MIT */
#include "top/model.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_events.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "tracedir/manifest.h"

#define NO_SERIES UINT_MAX

/* The meaning of a class of events. */
struct top_class {
    bool is_known;
    unsigned series; /* NO_SERIES if there are too many */
    struct exit_class exit;
};

void top_copy_name(char to[TOP_NAME_MAX + 1], const char *name)
{
    size_t len = name ? strnlen(name, TOP_NAME_MAX) : 0;

    if (len > 0)
        memcpy(to, name, len);
    to[len] = '\0';
}

/* ---- Sources ---- */

/* A source keeps its index when the trace is opened again, by its name and layer. */
static unsigned find_source(struct top_model *model, const char *name, enum layer layer)
{
    char copy[TOP_NAME_MAX + 1];
    struct top_source *source;

    top_copy_name(copy, name);
    for (unsigned i = 0; i < model->n_sources; i++)
        if (model->sources[i].layer == layer && strcmp(model->sources[i].name, copy) == 0)
            return i;
    if (model->n_sources == TOP_SOURCES_MAX) {
        model->is_too_much = true;
        return TOP_SOURCES_MAX - 1;
    }
    source = &model->sources[model->n_sources];
    *source = (struct top_source){.layer = layer, .error_ns = UINT64_MAX};
    memcpy(source->name, copy, sizeof copy);
    return model->n_sources++;
}

/* Adds the count of one of several files of a source. */
static void note_recorder(struct top_source *source, const struct origin *origin)
{
    source->recorder_lost += origin->lost;
    source->recorder_uncounted |= origin->lost_uncounted;
}

static void note_sources(struct top_model *model)
{
    const struct trace *trace = model->trace;

    for (unsigned i = 0; i < model->n_sources; i++) {
        struct top_source *source = &model->sources[i];

        source->is_here = source->is_late = source->loss_goes_on = false;
        source->recorder_lost = 0;
        source->recorder_uncounted = false;
    }
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];
        const char *name = input->recorded ? input->recorded->name : input->path;
        unsigned number = find_source(model, name, input->origin->layer);

        if (i < ARRAY_SIZE(model->input_sources))
            model->input_sources[i] = number;
        model->sources[number].is_here = true;
        model->sources[number].is_left_out = input->is_left_out;
        model->sources[number].window_error_ns = 0;
        note_recorder(&model->sources[number], input->origin);
        if (input->origin->is_live)
            model->sources[number].is_late = model->sources[number].has_loss[model->slot] = true;
        if (input->on_host_clock)
            model->sources[number].error_ns = input->host_error_ns;
    }
}

unsigned top_model_source(struct top_model *model, const struct origin *origin)
{
    if (unlikely(origin != model->recent_origin)) {
        unsigned input = trace_input_of(model->trace, origin);

        model->recent_origin = origin;
        model->recent_source =
            input < ARRAY_SIZE(model->input_sources) ? model->input_sources[input] : 0;
    }
    return model->recent_source;
}

bool top_source_has_loss(const struct top_model *model, unsigned source, unsigned n)
{
    n = top_windows(model, n);
    for (unsigned i = 0; i < n; i++)
        if (model->sources[source].has_loss[top_slot(model, i)])
            return true;
    return false;
}

struct top_lost top_source_lost(const struct top_model *model, const struct top_source *source)
{
    struct top_lost lost = {.is_more = source->loss_goes_on};
    unsigned n = top_windows(model, TOP_WINDOWS);

    for (unsigned i = 0; i < n; i++) {
        lost.n += source->lost[top_slot(model, i)];
        lost.is_more |= source->uncounted[top_slot(model, i)];
    }
    lost.is_unplaced = source->recorder_uncounted || source->recorder_lost > lost.n;
    lost.is_more |= lost.is_unplaced;
    return lost;
}

int64_t top_model_length(const struct top_model *model, unsigned n)
{
    int64_t length = 0;

    n = top_windows(model, n);
    for (unsigned i = 0; i < n; i++)
        length = ticks_sum(length, model->lengths[top_slot(model, i)]);
    return length;
}

/* ---- Events by class ---- */

/* Finds a series that has no events in all windows. */
static unsigned reuse_series(struct top_model *model)
{
    for (unsigned i = 0; i < model->n_series; i++)
        if (model->series[i].last + TOP_WINDOWS <= model->n)
            return i;
    model->is_too_much = true;
    return NO_SERIES;
}

static int find_series(struct top_model *model, unsigned source, const char *name, unsigned *ret)
{
    char copy[TOP_NAME_MAX + 1];
    unsigned number;

    top_copy_name(copy, name);
    for (number = 0; number < model->n_series; number++)
        if (model->series[number].source == source &&
            strcmp(model->series[number].name, copy) == 0) {
            *ret = number;
            return 0;
        }
    if (model->n_series == TOP_SERIES_MAX) {
        number = reuse_series(model);
    } else if (model->n_series == model->series_room) {
        unsigned room = MAX(model->series_room * 2, 64u);
        struct top_series *series = realloc(model->series, room * sizeof *series);

        if (!series)
            return -ENOMEM;
        model->series = series;
        model->series_room = room;
    }
    if (number != NO_SERIES) {
        model->series[number] = (struct top_series){.source = source, .last = model->n};
        memcpy(model->series[number].name, copy, sizeof copy);
        if (number == model->n_series)
            model->n_series++;
    }
    *ret = number;
    return 0;
}

static _cold_ int learn_class(struct top_model *model, const struct event_class *class)
{
    struct top_class *found;
    int r;

    if (class->index >= model->n_classes) {
        unsigned n = MAX(class->index + 1, model->n_classes * 2);
        struct top_class *classes = realloc(model->classes, n * sizeof *classes);

        if (!classes)
            return -ENOMEM;
        memset(classes + model->n_classes, 0, (n - model->n_classes) * sizeof *classes);
        model->classes = classes;
        model->n_classes = n;
    }
    found = &model->classes[class->index];
    exit_class_find(class, &found->exit);
    r = find_series(model, top_model_source(model, class->origin), class->name, &found->series);
    found->is_known = r >= 0;
    return r;
}

/* ---- Items ---- */

static void put_loss(struct top_model *model, const struct item *item)
{
    unsigned number = top_model_source(model, item->origin);
    struct top_source *source = &model->sources[number];
    int64_t since = item->since != TIME_UNKNOWN ? item->since : model->last_time[number];

    source->has_loss[model->slot] = true;
    if (item->goes_on)
        source->loss_goes_on = true;
    else if (item->time <= model->from)
        ; /* a window before counted it */
    else if (item->lost == LOST_UNKNOWN)
        source->uncounted[model->slot] = true;
    else
        source->lost[model->slot] += item->lost;
    top_vcpus_put_loss(model, number, MAX(since, model->from));
}

static int put_event(struct top_model *model, const struct item *item)
{
    unsigned number = top_model_source(model, item->origin);
    struct top_source *source = &model->sources[number];
    struct top_class *class;
    int r;

    if (unlikely(item->class->index >= model->n_classes ||
                 !model->classes[item->class->index].is_known)) {
        r = learn_class(model, item->class);
        if (r < 0)
            return r;
    }
    class = &model->classes[item->class->index];
    source->events[model->slot]++;
    source->window_error_ns = MAX(source->window_error_ns, (uint64_t)item->error_ns);
    model->last_time[number] = item->time;
    if (likely(class->series != NO_SERIES)) {
        model->series[class->series].counts[model->slot]++;
        model->series[class->series].last = model->n;
    }
    return top_vcpus_put(model, &class->exit, item);
}

/* True for a loss that continues in all later windows. */
static bool is_endless(const struct item *item)
{
    return item->kind == ITEM_LOSS && item->is_open;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    struct top_model *model = container_of(sink, struct top_model, sink);
    int r;

    states_begin_loss(&model->states, item);
    r = io_begins_begin_loss(&model->io.begins, item);
    return r < 0 ? r : top_exits_begin_loss(model, item);
}

/* Puts each item once: without the look-back, and only the end of a loss that continues. */
static int put_exits(struct top_model *model, const struct item *items, unsigned n)
{
    int r = 0;

    for (; n > 0 && items->time <= model->from; items++, n--)
        if (unlikely(is_endless(items)) && r >= 0)
            r = top_exits_put(model, items, 1);
    while (n > 0 && item_is_part_of_loss(&items[n - 1]))
        n--;
    return r < 0 ? r : top_exits_put(model, items, n);
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct top_model *model = container_of(sink, struct top_model, sink);
    int r;

    while (n > 0 && items[n - 1].time > model->to)
        n--;
    r = states_put(&model->states, items, n);
    if (r >= 0)
        r = io_tracker_put(&model->io, items, n);
    if (r >= 0)
        r = put_exits(model, items, n);
    for (unsigned i = 0; i < n && r >= 0; i++) {
        if (items[i].time <= model->from && !is_endless(&items[i]))
            continue;
        if (unlikely(items[i].kind == ITEM_LOSS))
            put_loss(model, &items[i]);
        else
            r = put_event(model, &items[i]);
    }
    return r >= 0 && model->no_memory ? -ENOMEM : r;
}

static const struct sink_ops sink_ops = {.put = put, .begin_loss = begin_loss};

/* ---- Windows ---- */

void top_model_init(struct top_model *model)
{
    *model = (struct top_model){.sink.ops = &sink_ops, .until = TIME_UNKNOWN};
}

static void close_window(struct top_model *model)
{
    if (!model->is_open)
        return;
    states_done(&model->states);
    selection_done(&model->within);
    steal_done(&model->steal);
    io_tracker_done(&model->io);
    top_exits_end(model);
    free(model->classes);
    model->classes = NULL;
    model->n_classes = 0;
    model->trace = NULL;
    model->recent_origin = NULL;
    model->is_open = false;
}

void top_model_done(struct top_model *model)
{
    close_window(model);
    top_vcpus_done(model);
    top_exits_done(model);
    free(model->series);
    free(model->exits);
}

/* Clears the entries of the window that was TOP_WINDOWS windows ago. */
static void clear_slot(struct top_model *model)
{
    unsigned slot = model->slot;

    model->has_gap[slot] = model->until != TIME_UNKNOWN && model->from != model->until;
    model->lengths[slot] = ticks_between(model->from, model->to);
    for (unsigned i = 0; i < model->n_sources; i++) {
        model->sources[i].events[slot] = model->sources[i].lost[slot] = 0;
        model->sources[i].has_loss[slot] = model->sources[i].uncounted[slot] = false;
    }
    for (unsigned i = 0; i < model->n_series; i++)
        model->series[i].counts[slot] = 0;
    for (unsigned i = 0; i < model->n_exits; i++) {
        struct top_exit *exit = &model->exits[i];

        exit->n[slot] = exit->timed[slot] = 0;
        exit->sum[slot] = exit->max[slot] = 0;
    }
    model->n_requests[slot] = 0;
}

int top_model_begin(struct top_model *model, struct trace *trace, int64_t from, int64_t until)
{
    int r;

    close_window(model);
    model->trace = trace;
    model->from = from;
    model->to = until;
    model->slot = (unsigned)(model->n % TOP_WINDOWS);
    model->clock = trace->inputs[0].origin->clock;
    model->no_memory = false;
    clear_slot(model);
    note_sources(model);
    for (unsigned i = 0; i < TOP_SOURCES_MAX; i++)
        model->last_time[i] = model->last_end[i] = from;
    top_vcpus_begin(model);
    r = selection_init_times(&model->within, from, until);
    if (r < 0)
        return r;
    states_init(&model->states, &top_vcpus_states_ops, model);
    model->states.select = &model->within;
    r = io_tracker_init(&model->io, &model->clock, &top_requests_ops, model);
    model->is_open = true;
    return r < 0 ? r : top_exits_begin(model);
}

/* Updates the largest error of times. A window without events keeps the error of the previous one. */
static void note_errors(struct top_model *model)
{
    for (unsigned i = 0; i < model->n_sources && model->trace->host_time; i++)
        if (model->sources[i].events[model->slot] > 0 && model->sources[i].window_error_ns > 0)
            model->sources[i].error_ns = model->sources[i].window_error_ns;
}

int top_model_end(struct top_model *model, int error)
{
    if (!model->is_open)
        return error;
    note_errors(model);
    if (error >= 0) {
        top_requests_put_open(model);
        error = io_tracker_finish(&model->io);
    }
    if (error >= 0)
        error = states_finish(&model->states);
    top_vcpus_end(model);
    close_window(model);
    model->until = model->to;
    model->n++;
    return error >= 0 && model->no_memory ? -ENOMEM : error;
}

int64_t top_model_look_back(const struct top_model *model, int64_t max)
{
    int64_t look_back = 0;

    for (unsigned i = 0; i < model->n_open; i++)
        look_back = MAX(look_back, ticks_between(model->open[i].begin, model->until));
    return MIN(look_back, max);
}
