/* SPDX-License-Identifier: MIT */
#include "analysis/io_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/macro.h"
#include "base/ticks.h"

#define KEY_BY 3 /* the first key of `--by`, between the kind and the stage */
#define NO_GROUP UINT32_MAX

static _cold_ struct row *add_row(struct io *io, struct io_group *group,
                                  const struct io_request *request, unsigned number)
{
    char device[IO_DEVICE_SIZE];
    const char *keys[ROW_KEYS] = {layer_name(request->origin->layer),
                                  io_device_text(device, request->origin->layer, request->device),
                                  io_kind_name(request->kind)};
    uint64_t numbers[ROW_KEYS] = {group->numbers[0], group->numbers[1], group->numbers[2], number,
                                  group->numbers[3]};
    unsigned n_by = io->by.n_keys;
    const struct row *by = n_by > 0 ? io->by.rows[request->group] : NULL;
    struct row *row;

    for (unsigned i = 0; i < n_by; i++)
        keys[KEY_BY + i] = by->keys[i];
    keys[KEY_BY + n_by] = number == IO_TOTAL ? "total" : io_request_stage(request, number);
    row = group->rows[number] = rows_add(&io->rows, numbers, keys);
    if (!row)
        return NULL;
    row->origin = request->origin;
    for (unsigned i = 0; i < n_by; i++)
        row->values[KEY_BY + i] = by->values[i];
    if (by)
        row->has_value = by->has_value << KEY_BY;
    return row;
}

static _cold_ struct row *add_by(struct io *io, const struct item *item, uint64_t *numbers)
{
    const struct grouping *grouping = &io->analysis.settings.grouping;
    bool is_last = io->by.n + 1 >= IO_BY_MAX;
    struct text *text = &io->by.text;
    size_t starts[ROW_KEYS] = {0};
    const char *keys[ROW_KEYS] = {0};
    struct row *row;

    text->next = text->start;
    for (unsigned i = 0; i < grouping->n; i++) {
        starts[i] = text_len(text);
        if (is_last) {
            numbers[i] = UINT64_MAX;
            text_put_literal(text, "(others)");
        } else {
            grouping_put(grouping, i, item, text);
        }
        text_put_char(text, '\0');
    }
    if (text->error)
        return NULL;
    for (unsigned i = 0; i < grouping->n; i++)
        keys[i] = text->start + starts[i];
    row = is_last ? rows_find(&io->by, numbers) : NULL;
    if (row)
        return row;
    row = rows_add(&io->by, numbers, keys);
    for (unsigned i = 0; row && !is_last && i < grouping->n; i++)
        if (grouping_value(grouping, i, item, &row->values[i]))
            row->has_value |= 1u << i;
    return row;
}

static uint32_t begin_request(void *arg, const struct item *item)
{
    struct io *io = arg;
    uint64_t numbers[ROW_KEYS] = {0};
    const struct row *row;

    grouping_numbers(&io->analysis.settings.grouping, item, numbers);
    row = rows_find(&io->by, numbers);
    if (unlikely(!row))
        row = add_by(io, item, numbers);
    if (unlikely(!row))
        error_set(&io->analysis.sink.error, -ENOMEM, NULL, "out of memory");
    return row ? row->number : NO_GROUP;
}

/* Requests that a VMM is known to have handled, and other requests, have different stages. */
static struct io_group *get_group(struct io *io, const struct io_request *request)
{
    const uint64_t numbers[] = {(uintptr_t)request->origin ^ (request->vmm ? 1u : 0u),
                                request->device, request->kind, request->group};
    struct io_group *more;

    for (unsigned i = 0; i < io->n_groups; i++)
        if (memcmp(io->groups[i].numbers, numbers, sizeof numbers) == 0)
            return &io->groups[i];
    if (io->n_groups == IO_GROUPS_MAX)
        return NULL;
    if ((io->n_groups & (io->n_groups - 1)) == 0) {
        more = realloc(io->groups, MAX(io->n_groups * 2, 1u) * sizeof *more);
        if (!more)
            return NULL;
        io->groups = more;
    }
    io->groups[io->n_groups] = (struct io_group){.has_vmm = request->vmm != NULL};
    memcpy(io->groups[io->n_groups].numbers, numbers, sizeof numbers);
    return &io->groups[io->n_groups++];
}

static bool is_wanted(const struct io *io, const struct io_request *request)
{
    const struct selection *select = io->analysis.settings.select;
    const char *name;

    if (select && !selection_has_row(select, request->origin, io_request_begin(request),
                                     request->cpu, request->pid, request->vcpu))
        return false;
    if (!io->analysis.settings.task)
        return true;
    name = origin_task_name(request->origin, request->pid);
    return name && glob_match(io->analysis.settings.task, name);
}

static void leave_out(struct io *io, const struct io_request *request)
{
    const struct selection *select = io->analysis.settings.select;

    io->analysis.left_out++;
    io->analysis.unplaced +=
        select && selection_lacks_cpu(select, request->origin, io_request_begin(request),
                                      request->cpu, request->pid, request->vcpu);
}

static int put_span(struct io *io, const struct io_request *request, const struct row *row,
                    unsigned first, unsigned last)
{
    const struct analysis_span span = {.begin = request->at[first],
                                       .end = request->at[last],
                                       .error_ns = io_request_error(request, first, last),
                                       .cpu = request->cpu,
                                       .pid = request->pid,
                                       .vcpu = request->vcpu,
                                       .origin = request->origin,
                                       .keys = row->keys,
                                       .numbers = row->values,
                                       .has_number = row->has_value};

    return io->analysis.put_span(io->analysis.put_span_arg, &span);
}

static int count(struct io *io, struct io_group *group, const struct io_request *request,
                 unsigned number, int64_t begin, int64_t end, uint32_t error_ns)
{
    struct row *row = likely(group->rows[number] != NULL) ? group->rows[number]
                                                          : add_row(io, group, request, number);

    if (!row)
        return -ENOMEM;
    /* It may end on any CPU. */
    row_note_source(&io->rows, row, request->origin, request->origin, request->cpu, request->vcpu,
                    false, false);
    return row_count(&io->rows, row, begin, (int64_t)((uint64_t)end - (uint64_t)begin), error_ns);
}

/* REQUEST is the longest of GROUP so far: finds its longest stage. */
static _cold_ void note_longest(struct io_group *group, const struct io_request *request,
                                unsigned first, unsigned last)
{
    unsigned before = first;

    group->longest = request->at[last] - request->at[first];
    group->longest_stage = NULL;
    group->stage_ticks = 0;
    for (unsigned i = first + 1; i <= last; i++) {
        if (request->at[i] == TIME_UNKNOWN)
            continue;
        if (request->at[i] - request->at[before] > group->stage_ticks) {
            group->stage_ticks = request->at[i] - request->at[before];
            group->longest_stage = io_request_stage(request, i);
        }
        before = i;
    }
}

static bool selects(void *arg, const struct io_request *request)
{
    struct io *io = arg;
    bool is_selected = is_wanted(io, request);

    io->has_unselected |= !is_selected;
    return is_selected;
}

static int put_request(void *arg, const struct io_request *request)
{
    struct io *io = arg;
    unsigned first = 0, last = IO_COMPLETED, before;
    struct io_group *group;
    int r;

    while (request->at[first] == TIME_UNKNOWN)
        first++;
    while (request->at[last] == TIME_UNKNOWN)
        last--;
    if (request->group == NO_GROUP)
        return -ENOMEM;
    if (request->vmm && request->origin->layer == LAYER_GUEST && io->rows.slowest.max > 0)
        io_note_handler(io, request);
    if (!is_wanted(io, request) ||
        request->at[last] - request->at[first] < io->analysis.settings.longer) {
        leave_out(io, request);
        return 0;
    }
    group = get_group(io, request);
    if (!group)
        return -ENOMEM;
    group->bytes += (uint64_t)request->sectors * 512;
    if (request->at[last] - request->at[first] > group->longest)
        note_longest(group, request, first, last);
    r = count(io, group, request, IO_TOTAL, request->at[first], request->at[last],
              io_request_error(request, first, last));
    before = first;
    for (unsigned i = first + 1; r >= 0 && i <= last; i++) {
        if (request->at[i] == TIME_UNKNOWN)
            continue;
        r = count(io, group, request, i, request->at[before], request->at[i],
                  io_request_error(request, before, i));
        before = i;
    }
    if (r >= 0 && io->analysis.put_span)
        r = put_span(io, request, group->rows[IO_TOTAL], first, last);
    if (r >= 0 && io->rows.slowest.max > 0)
        r = io_keep_slow(io, request, group->rows[IO_TOTAL], request->at[last],
                         io_request_error(request, first, last), false);
    return r;
}

/* Until when REQUEST has certainly not ended: the end of its source's data and, while a VMM has it, of the VMM's data.
 * Not before the last point that it has passed. */
static struct source_end find_open_until(const struct io *io, const struct io_request *request)
{
    struct source_end end = source_ends_find(&io->rows.ends, request->origin);
    unsigned last = IO_COMPLETED;

    while (request->at[last] == TIME_UNKNOWN)
        last--;
    /* Once the VMM is done with it, the guest may find that without a notification. */
    if (request->vmm && request->at[IO_RETURNED] == TIME_UNKNOWN &&
        io->tracker.counts.points >> IO_RETURNED & 1) {
        struct source_end of_vmm = source_ends_find(&io->rows.ends, request->vmm);

        if (of_vmm.time > end.time)
            end = of_vmm;
    }
    if (request->origin->ended != 0)
        end.time = MIN(end.time, request->origin->ended);
    end.time = MAX(end.time, request->at[last]);
    return end;
}

/* The row of an open request has no requests, unless others of its group are over. */
static void put_open(void *arg, const struct io_request *request)
{
    struct io *io = arg;
    struct io_group *group;
    unsigned first = 0;
    struct source_end end;
    int64_t duration;
    int r;

    if (io->rows.slowest.max == 0 || request->group == NO_GROUP || !is_wanted(io, request))
        return;
    while (request->at[first] == TIME_UNKNOWN)
        first++;
    end = find_open_until(io, request);
    if (end.time <= request->at[first])
        return;
    duration = ticks_between(request->at[first], end.time);
    if (duration < io->analysis.settings.longer ||
        !slowest_would_keep(&io->rows.slowest, duration, true))
        return;
    group = get_group(io, request);
    r = group && (group->rows[IO_TOTAL] || add_row(io, group, request, IO_TOTAL))
            ? io_keep_slow(io, request, group->rows[IO_TOTAL], end.time,
                           MAX(request->error_ns, end.error_ns), true)
        : group || io->n_groups < IO_GROUPS_MAX ? -ENOMEM
                                                : 0;
    if (r < 0)
        error_set(&io->analysis.sink.error, r, NULL, "out of memory");
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct io *io = io_of_analysis(container_of(sink, struct analysis, sink));
    int r;

    r = analysis_note_times(&io->analysis, &io->rows, items, n);
    if (r == 0)
        r = io_tracker_put(&io->tracker, items, n);
    for (unsigned i = 0; r >= 0 && io->rows.slowest.max > 0 && i < n; i++)
        r = history_put(&io->finder.history, &items[i]);
    if (r >= 0 && io->rows.slowest.max > 0)
        r = history_put_states(&io->finder.history, items, n);
    if (r >= 0 && io->rows.slowest.max > 0)
        r = path_finder_make_room(&io->finder, &io->tracker, io->rows.ends.last);
    if (r == -ERANGE)
        return analysis_period_error(sink);
    return r < 0 ? r : sink->error.code;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    struct io *io = io_of_analysis(container_of(sink, struct analysis, sink));

    if (io->rows.slowest.max > 0)
        history_begin_loss(&io->finder.history, item);
    return io_begins_begin_loss(&io->tracker.begins, item);
}

static int finish(struct sink *sink)
{
    struct io *io = io_of_analysis(container_of(sink, struct analysis, sink));
    int r = io_tracker_finish(&io->tracker);

    if (r >= 0 && io->rows.slowest.max > 0)
        r = path_finder_finish(&io->finder);
    return r < 0 ? r : sink->error.code;
}

int io_init(struct io *io, const struct analysis_settings *settings)
{
    static const struct sink_ops sink_ops = {
        .put = put, .begin_loss = begin_loss, .finish = finish};
    static const struct analysis_ops ops = {.name = "io",
                                            .add_columns = io_add_columns,
                                            .add_rows = io_add_rows,
                                            .has_events = io_has_events,
                                            .is_ordered = true};
    static const struct io_tracker_ops tracker_ops = {.request = put_request,
                                                      .open = put_open,
                                                      .selects = selects},
                                       by_ops = {.request = put_request,
                                                 .begin = begin_request,
                                                 .open = put_open,
                                                 .selects = selects};
    unsigned n_by = settings->grouping.n;
    int r;

    *io = (struct io){.analysis = {.sink.ops = &sink_ops,
                                   .ops = &ops,
                                   .settings = *settings,
                                   .left_out_name = "requests"}};
    path_finder_init(&io->finder, io_find_why, io);
    if (IO_OWN_KEYS + n_by > ROW_KEYS)
        return -EINVAL;
    r = rows_init(&io->rows, IO_OWN_KEYS + n_by, settings->slowest, settings->every,
                  settings->has_batches);
    io->rows.slowest.free_kind = io_slow_free;
    rows_set_grouping(&io->rows, &settings->grouping);
    if (r >= 0)
        r = rows_init(&io->by, n_by, 0, 0, false);
    return r < 0 ? r
                 : io_tracker_init(&io->tracker, &settings->clock,
                                   n_by > 0 ? &by_ops : &tracker_ops, io);
}

void io_done(struct io *io)
{
    io_tracker_done(&io->tracker);
    for (unsigned i = 0; i < io->finder.n; i++)
        io_slow_free(io->finder.pending[i].own);
    path_finder_done(&io->finder);
    rows_done(&io->rows);
    rows_done(&io->by);
    free(io->groups);
}
