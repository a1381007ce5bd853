/* SPDX-License-Identifier: MIT */
#include "analysis/path/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_internal.h"
#include "base/glob.h"
#include "base/macro.h"
#include "base/ticks.h"

static bool is_selected(struct path *path, const struct path_pending *pending)
{
    const struct analysis_settings *settings = &path->analysis.settings;
    const struct selection *select = settings->select;
    const char *name;

    if (select && !selection_has_row(select, pending->origin, pending->begin, pending->cpu,
                                     pending->pid, pending->vcpu)) {
        path->analysis.unplaced += selection_lacks_cpu(select, pending->origin, pending->begin,
                                                       pending->cpu, pending->pid, pending->vcpu);
        return false;
    }
    if (!settings->task)
        return true;
    name = origin_task_name(pending->origin, pending->pid);
    return name && glob_match(settings->task, name);
}

static int find_path(void *arg, const struct path_pending *pending,
                     const struct io_request *request)
{
    struct path *path = arg;
    struct path_walk *walk = &path->finder.walk;
    int r = request ? path_walk_request(walk, request)
                    : path_walk_thread(walk, &pending->end, pending->begin, pending->until);

    return r < 0 ? r : path_count(path, pending, request);
}

static int add_pending(struct path *path, const struct path_pending *pending)
{
    path->has_events = true;
    if (pending->until <= pending->begin ||
        ticks_between(pending->begin, pending->until) < path->analysis.settings.longer ||
        !is_selected(path, pending)) {
        path->analysis.left_out++;
        return 0;
    }
    return path_finder_add(&path->finder, pending);
}

/* The number of the group; -ENOMEM. */
static int get_group(struct path *path, const char *name, const struct origin *origin,
                     enum io_kind kind)
{
    struct path_group *more;

    for (unsigned i = 0; i < path->n_groups; i++) {
        const struct path_group *group = &path->groups[i];

        if (group->name == name && group->kind == kind &&
            (group->origin ? origin && group->origin->layer == origin->layer : !origin))
            return (int)i;
    }
    more = realloc(path->groups, (path->n_groups + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    path->groups = more;
    more[path->n_groups] = (struct path_group){.name = name, .origin = origin, .kind = kind};
    return (int)path->n_groups++;
}

/* ---- requests ---- */

static int put_request(void *arg, const struct io_request *request)
{
    struct path *path = arg;
    struct path_pending pending = {
        .origin = request->origin, .cpu = request->cpu, .pid = request->pid, .vcpu = request->vcpu};
    unsigned first = 0, last = IO_COMPLETED;
    int r = history_put_request(&path->finder.history, request, &pending.request);

    if (r < 0 || path->of != PATH_OF_REQUESTS)
        return r;
    r = get_group(path, NULL, request->origin, request->kind);
    if (r < 0)
        return r;
    pending.group = (unsigned)r;
    while (request->at[first] == TIME_UNKNOWN)
        first++;
    while (request->at[last] == TIME_UNKNOWN)
        last--;
    pending.begin = request->at[first];
    pending.until = request->at[last];
    pending.error_ns = io_request_error(request, first, last);
    return add_pending(path, &pending);
}

/* ---- spans ---- */

static int complete_span(void *arg, const struct span *span, const struct item *item)
{
    struct path *path = arg;
    struct path_pending pending = {.begin = span_begin(span),
                                   .until = span_end(span),
                                   .origin = span->origin,
                                   .cpu = span->cpu,
                                   .pid = span->pid,
                                   .vcpu = span->vcpu,
                                   .error_ns = span->error_ns};
    int r = get_group(path, span->kind->name, NULL, IO_READ);

    if (r < 0)
        return r;
    pending.group = (unsigned)r;
    pending.end = (struct path_end){.origin = item->origin, .pid = item->pid};
    pending.end.in_interrupt =
        wakes_find_interrupt(&path->finder.history.wakes, item, &pending.end.cause);
    if (pending.end.in_interrupt) /* which interrupts any thread */
        pending.end.pid = PID_UNKNOWN;
    return add_pending(path, &pending);
}

/* ---- waits, and all of the time of threads ---- */

static int put_state(void *arg, const struct state_interval *interval)
{
    struct path *path = arg;
    const struct selection *select = path->analysis.settings.select;
    int r;
    struct path_pending pending = {.begin = interval->begin,
                                   .until = interval->end,
                                   .origin = interval->origin,
                                   .cpu = interval->cpu,
                                   .pid = interval->id,
                                   .vcpu = interval->vcpu,
                                   .end = {.origin = interval->origin, .pid = interval->id}};

    if (path->of == PATH_OF_WAITS && (!interval->begin_seen || !interval->end_seen ||
                                      (!state_is_sleep((enum state)interval->state) &&
                                       !state_waits((enum state)interval->state))))
        return 0;
    if (path->of == PATH_OF_THREADS && select && select->started) {
        pending.begin = MAX(pending.begin, select->rows_from);
        pending.until = MIN(pending.until, select->rows_to);
        if (pending.begin >= pending.until)
            return 0;
    }
    r = get_group(path, path->of == PATH_OF_WAITS ? "wait" : "thread", NULL, IO_READ);
    if (r < 0)
        return r;
    pending.group = (unsigned)r;
    return add_pending(path, &pending);
}

/* ---- all ---- */

/* Items are put one after the other: the end of a span asks whether an interrupt is handled there. */
static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct path *path = path_of_analysis(container_of(sink, struct analysis, sink));
    int r = analysis_note_times(&path->analysis, &path->rows, items, n);

    for (unsigned i = 0; r >= 0 && i < n; i++) {
        r = history_put(&path->finder.history, &items[i]);
        if (r >= 0 && path->of == PATH_OF_SPANS)
            r = spans_put(&path->spans, &items[i], 1);
    }
    if (r >= 0)
        r = history_put_states(&path->finder.history, items, n);
    if (r >= 0)
        r = io_tracker_put(&path->tracker, items, n);
    if (r >= 0)
        r = path_finder_make_room(&path->finder, &path->tracker, path->rows.ends.last);
    if (r == -ERANGE)
        return analysis_period_error(sink);
    return r < 0 ? r : sink->error.code;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    struct path *path = path_of_analysis(container_of(sink, struct analysis, sink));
    int r = 0;

    history_begin_loss(&path->finder.history, item);
    if (path->of == PATH_OF_SPANS)
        r = spans_begin_loss(&path->spans, item);
    return r < 0 ? r : io_begins_begin_loss(&path->tracker.begins, item);
}

static int finish(struct sink *sink)
{
    struct path *path = path_of_analysis(container_of(sink, struct analysis, sink));
    int r = io_tracker_finish(&path->tracker);

    if (path->of == PATH_OF_SPANS)
        spans_finish(&path->spans);
    if (r >= 0)
        r = path_finder_finish(&path->finder);
    if (r == -ERANGE)
        return analysis_period_error(sink);
    return r < 0 ? r : sink->error.code;
}

static bool has_events(const struct analysis *analysis)
{
    return container_of(analysis, const struct path, analysis)->has_events;
}

int path_init(struct path *path, const struct analysis_settings *settings, enum path_of of,
              const struct span_rule *rules, unsigned n_rules, const struct catalogue *catalogue)
{
    static const struct sink_ops sink_ops = {
        .put = put, .begin_loss = begin_loss, .finish = finish};
    static const struct analysis_ops ops = {.name = "path",
                                            .add_columns = path_add_columns,
                                            .add_rows = path_add_rows,
                                            .has_events = has_events,
                                            .is_ordered = true};
    static const struct io_tracker_ops tracker_ops = {.request = put_request};
    static const struct spans_ops span_ops = {.complete = complete_span};
    int r;

    *path = (struct path){
        .analysis = {.sink.ops = &sink_ops, .ops = &ops, .settings = *settings},
        .of = of,
        .text = {TEXT_IN_MEMORY, TEXT_IN_MEMORY, TEXT_IN_MEMORY},
    };
    path->analysis.left_out_name = of == PATH_OF_REQUESTS  ? "requests"
                                   : of == PATH_OF_WAITS   ? "waits"
                                   : of == PATH_OF_THREADS ? "times of threads"
                                                           : NULL;
    path_finder_init(&path->finder, find_path, path);
    if (of == PATH_OF_WAITS || of == PATH_OF_THREADS) {
        path->finder.history.put_state = put_state;
        path->finder.history.arg = path;
    }
    r = rows_init(&path->rows, PATH_KEYS, settings->slowest, settings->every,
                  settings->has_batches);
    path->rows.slowest.free_kind = path_chain_free;
    if (r >= 0)
        r = io_tracker_init(&path->tracker, &settings->clock, &tracker_ops, path);
    if (r >= 0 && of == PATH_OF_SPANS)
        r = spans_init(&path->spans, catalogue, rules, n_rules, &span_ops, path);
    return r;
}

void path_share_states(struct path *path, struct states *states)
{
    history_share_states(&path->finder.history, states);
}

void path_done(struct path *path)
{
    if (path->of == PATH_OF_SPANS)
        spans_done(&path->spans);
    io_tracker_done(&path->tracker);
    path_finder_done(&path->finder);
    for (unsigned i = 0; i < path->n_sums; i++)
        for (unsigned j = 0; j < ARRAY_SIZE(path->sums[i].doublings); j++)
            free(path->sums[i].doublings[j]);
    free(path->sums);
    free(path->counted);
    free(path->parts);
    free(path->errors);
    free(path->touched);
    for (unsigned i = 0; i < path->n_groups; i++)
        histogram_done(&path->groups[i].all);
    free(path->groups);
    rows_done(&path->rows);
    for (unsigned i = 0; i < ARRAY_SIZE(path->text); i++)
        text_done(&path->text[i]);
    *path = (struct path){0};
}
