/* SPDX-License-Identifier: MIT */
#include "analysis/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "base/wide.h"

#define KEY_BY 3 /* the first key of `--by`, between the kind and the stage */
#define NO_GROUP UINT32_MAX
#define TOTAL 0 /* of a group's rows; the others are by the point that ends the stage */

/* What a device has of a kind. */
struct io_group {
    uint64_t numbers[4];             /* layer, device, kind, and the group of `by` */
    struct row *rows[IO_POINTS + 1]; /* NULL: it has no such stage */
    uint64_t bytes;
    bool has_vmm;
    int64_t longest;           /* request, in ticks; of that: */
    const char *longest_stage; /* its longest stage; NULL: it has none */
    int64_t stage_ticks;
};

/* The stage that ends at POINT. A request whose VMM is unknown is with its device from its issue on. */
static const char *stage_name(const struct io_request *request, unsigned point)
{
    bool is_first = point == IO_INTERRUPT ||
                    (point == IO_COMPLETED && request->at[IO_INTERRUPT] == TIME_UNKNOWN);

    return is_first && !request->vmm ? "device" : io_stage_name((enum io_point)point);
}

static const char *group_name(char *buf, size_t size, const struct io_request *request)
{
    if (request->origin->layer == LAYER_VMM)
        snprintf(buf, size, "0x%" PRIx64, request->device);
    else /* as the kernel packs it: 20 bits of the minor number */
        snprintf(buf, size, "%" PRIu64 ",%" PRIu64, request->device >> 20,
                 request->device & 0xfffff);
    return buf;
}

static _cold_ struct row *add_row(struct io *io, struct io_group *group,
                                  const struct io_request *request, unsigned number)
{
    char device[40];
    const char *keys[ROW_KEYS] = {layer_name(request->origin->layer),
                                  group_name(device, sizeof device, request),
                                  io_kind_name(request->kind)};
    uint64_t numbers[ROW_KEYS] = {group->numbers[0], group->numbers[1], group->numbers[2], number,
                                  group->numbers[3]};
    unsigned n_by = io->by.n_keys;
    const struct row *by = n_by > 0 ? io->by.rows[request->group] : NULL;
    struct row *row;

    for (unsigned i = 0; i < n_by; i++)
        keys[KEY_BY + i] = by->keys[i];
    keys[KEY_BY + n_by] = number == TOTAL ? "total" : stage_name(request, number);
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

/* Requests that a VMM is known to have handled, and those of which it is not, have different stages. */
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

static bool is_vmm_point(unsigned point)
{
    return point >= IO_KICKED && point <= IO_NOTIFIED;
}

/* The largest error of the time that REQUEST was between two of its points. */
static uint32_t error_between(const struct io_request *request, unsigned from, unsigned until)
{
    if (is_vmm_point(from) != is_vmm_point(until))
        return request->error_ns;
    return is_vmm_point(from) ? request->vmm_error_ns : request->own_error_ns;
}

static void keep_slow(struct io *io, const struct io_request *request, struct row *row,
                      int64_t begin, int64_t end, uint32_t error_ns, bool is_open)
{
    struct slow_span slow = {.begin = begin,
                             .end = end,
                             .is_open = is_open,
                             .error_ns = error_ns,
                             .cpu = request->cpu,
                             .pid = request->pid,
                             .vcpu = request->vcpu,
                             .origin = request->origin,
                             .kind = request->vmm,
                             .other_pid = request->vmm_pid,
                             .first_pid = request->kick_pid,
                             .end_vcpu = request->end_vcpu,
                             .is_partial = begin < io->why.gone_until,
                             .row = row};

    memcpy(slow.at, request->at, sizeof request->at);
    slowest_keep(&io->rows.slowest, &slow);
}

static int put_span(struct io *io, const struct io_request *request, const struct row *row,
                    unsigned first, unsigned last)
{
    const struct analysis_span span = {.begin = request->at[first],
                                       .end = request->at[last],
                                       .error_ns = error_between(request, first, last),
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
    row_note_source(row, request->origin, request->origin);
    return row_count(&io->rows, row, begin, (int64_t)((uint64_t)end - (uint64_t)begin), error_ns);
}

/* REQUEST is the longest of GROUP yet: in which stage is it longest? */
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
            group->longest_stage = stage_name(request, i);
        }
        before = i;
    }
}

/* Notes which thread of the VMM handles the requests of a guest's device. */
static void note_handler(struct io *io, const struct io_request *request)
{
    struct io_handler *handler = io->handlers;

    while (handler < io->handlers + io->n_handlers &&
           (handler->origin != request->origin || handler->device != request->device))
        handler++;
    if (handler == io->handlers + IO_HANDLERS_MAX)
        return;
    if (handler == io->handlers + io->n_handlers) {
        io->n_handlers++;
        *handler = (struct io_handler){request->origin, request->device, request->vmm_pid};
    } else if (handler->pid != request->vmm_pid) {
        handler->pid = PID_UNKNOWN;
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
        note_handler(io, request);
    if (!is_wanted(io, request) ||
        request->at[last] - request->at[first] < io->analysis.settings.longer) {
        io->analysis.left_out++;
        return 0;
    }
    group = get_group(io, request);
    if (!group)
        return -ENOMEM;
    group->bytes += (uint64_t)request->sectors * 512;
    if (request->at[last] - request->at[first] > group->longest)
        note_longest(group, request, first, last);
    r = count(io, group, request, TOTAL, request->at[first], request->at[last],
              error_between(request, first, last));
    before = first;
    for (unsigned i = first + 1; r >= 0 && i <= last; i++) {
        if (request->at[i] == TIME_UNKNOWN)
            continue;
        r = count(io, group, request, i, request->at[before], request->at[i],
                  error_between(request, before, i));
        before = i;
    }
    if (r >= 0 && io->analysis.put_span)
        r = put_span(io, request, group->rows[TOTAL], first, last);
    if (r >= 0 && io->rows.slowest.max > 0)
        keep_slow(io, request, group->rows[TOTAL], request->at[first], request->at[last],
                  error_between(request, first, last), false);
    return r;
}

/* Until when REQUEST has certainly not ended: until the end of its source's data, and, while a VMM has it, of the VMM's. Not
 * before the last point that it has passed. */
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
    if (group && (group->rows[TOTAL] || add_row(io, group, request, TOTAL)))
        keep_slow(io, request, group->rows[TOTAL], request->at[first], end.time,
                  MAX(request->error_ns, end.error_ns), true);
    else if (group || io->n_groups < IO_GROUPS_MAX)
        error_set(&io->analysis.sink.error, -ENOMEM, NULL, "out of memory");
}

static struct io *get_io(struct analysis *analysis)
{
    return container_of(analysis, struct io, analysis);
}

/* Those of the slowest requests yet are needed, and those since a request began that may be one of them. */
static _cold_ int forget_states(struct io *io)
{
    const struct slowest *slowest = &io->rows.slowest;
    struct io_time times[IO_WHY_SPANS_MAX];
    int64_t froms[4];
    unsigned n = 0;
    int r = io_tracker_give(&io->tracker, io->rows.ends.last);

    if (r < 0)
        return r;

    for (unsigned i = 0; i < slowest_n(slowest) && slowest_n(slowest) <= IO_WHY_SPANS_MAX; i++) {
        const struct slow_span *slow = slowest_get(slowest, i);

        times[n++] = (struct io_time){.begin = slow->begin, .end = slow->end};
    }
    /* The first of them may hang. */
    for (unsigned i = 0; i < ARRAY_SIZE(froms); i++)
        froms[i] = MIN(io_tracker_first(&io->tracker, i > 0 ? froms[i - 1] : INT64_MIN),
                       io->rows.ends.last);
    io_why_keep_only(&io->why, times, n, froms, ARRAY_SIZE(froms));
    return 0;
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct io *io = get_io(container_of(sink, struct analysis, sink));
    int r;

    r = analysis_note_times(&io->analysis, &io->rows, items, n);
    if (r == 0)
        r = io_tracker_put(&io->tracker, items, n);
    if (r >= 0 && io->rows.slowest.max > 0 && io_why_is_crowded(&io->why))
        r = forget_states(io);
    if (r >= 0 && io->rows.slowest.max > 0)
        r = io_why_put(&io->why, items, n);
    if (r == -ERANGE)
        return analysis_period_error(sink);
    return r < 0 ? r : sink->error.code;
}

static int finish(struct sink *sink)
{
    struct io *io = get_io(container_of(sink, struct analysis, sink));
    int r = io_tracker_finish(&io->tracker);

    if (r >= 0 && io->rows.slowest.max > 0)
        r = io_why_finish(&io->why);
    return r < 0 ? r : sink->error.code;
}

/* ---- The result ---- */

static void add_columns(struct analysis *analysis, struct result *result)
{
    const struct grouping *grouping = &analysis->settings.grouping;
    struct io *io = get_io(analysis);

    result_add_key(result, "layer", "LAYER", false);
    result_add_key(result, "device", "DEVICE", false);
    result_add_key(result, "kind", "KIND", false);
    for (unsigned i = 0; i < grouping->n; i++)
        result_add_key(result, grouping->keys[i].name, grouping->keys[i].title,
                       grouping_is_number(grouping, i));
    result_add_key(result, "stage", "STAGE", false);
    result_add_duration_columns(result, &analysis->settings.percentiles, &io->columns);
    io->bytes = result_add_column(result, "bytes", "BYTES", RESULT_COUNT);
    io->part = result_add_column(result, "part", "PART", RESULT_SHARE);
}

static int compare_groups(const void *a, const void *b)
{
    const struct io_group *x = a, *y = b;
    const struct row *v = x->rows[TOTAL], *w = y->rows[TOTAL];

    /* One without a total is what memory ran out for. */
    if (!v || !w)
        return (w != NULL) - (v != NULL);
    if (v->n != w->n)
        return v->n > w->n ? -1 : 1;
    return (v->number > w->number) - (v->number < w->number);
}

/* Whether a request of GROUP is over: others are not in the rows. */
static bool has_requests(const struct io_group *group)
{
    return group->rows[TOTAL] && group->rows[TOTAL]->n > 0;
}

/* Whether other requests of the guest, with the keys of GROUP before those of `by`, are joined with those of a VMM. */
static bool has_joined(const struct io *io, const struct io_group *group)
{
    for (unsigned i = 0; i < io->n_groups && !group->has_vmm; i++) {
        const struct io_group *other = &io->groups[i];

        if (other->has_vmm && has_requests(other) &&
            other->numbers[0] == (group->numbers[0] ^ 1u) &&
            other->numbers[1] == group->numbers[1] && other->numbers[2] == group->numbers[2])
            return true;
    }
    return false;
}

/* Each row has keys that no other of the same guest has. */
static int name_not_joined(struct io *io, struct result *result)
{
    char name[64];

    for (unsigned i = 0; i < io->n_groups; i++) {
        const struct io_group *group = &io->groups[i];
        bool is_renamed = has_joined(io, group);

        for (unsigned j = 0; is_renamed && j < ARRAY_SIZE(group->rows); j++) {
            struct result_row *row = group->rows[j] ? result->rows[group->rows[j]->number] : NULL;

            if (!row)
                continue;
            snprintf(name, sizeof name, "%s" IO_NOT_JOINED, row->keys[result->n_keys - 1]);
            if (result_set_key(result, row, result->n_keys - 1, name) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* The total of each group, then its stages in their order. */
static int order_rows(struct io *io, struct result *result)
{
    struct result_row **rows = malloc((result->n_rows + 1) * sizeof *rows);
    unsigned n = 0;

    if (!rows)
        return -ENOMEM;
    if (io->n_groups > 0)
        qsort(io->groups, io->n_groups, sizeof *io->groups, compare_groups);
    for (unsigned i = 0; i < io->n_groups; i++) {
        const struct io_group *group = &io->groups[i];
        const struct row *total = has_requests(group) ? group->rows[TOTAL] : NULL;
        struct result_row *whole = total ? result->rows[total->number] : NULL;
        wide rest = total ? total->sum : wide_of(0);

        for (unsigned j = 0; total && j < ARRAY_SIZE(group->rows); j++) {
            struct result_row *row = group->rows[j] ? result->rows[group->rows[j]->number] : NULL;

            if (!row)
                continue;
            if (j == TOTAL)
                result_set_number(row, io->bytes, (int64_t)group->bytes);
            else
                rest = wide_sub(rest, group->rows[j]->sum);
            if (wide_is_less(wide_of(0), total->sum))
                result_set_real(row, io->part,
                                wide_to_double(group->rows[j]->sum) / wide_to_double(total->sum));
            rows[n++] = row;
        }
        if (whole) {
            whole->is_whole = true;
            whole->rest = (int64_t)wide_low(rest);
            whole->longest_part = group->longest_stage;
            whole->longest_share =
                group->longest > 0 ? (double)group->stage_ticks / (double)group->longest : 0;
        }
    }
    if (n > 0)
        memcpy(result->rows, rows, n * sizeof(struct result_row *));
    result->n_rows = n;
    free(rows);
    return 0;
}

/* The thread of the VMM that handles other requests of the device of SLOW, of which it is not known. */
static int32_t find_handler(const struct io *io, const struct slow_span *slow)
{
    const struct io_group *group = io->groups;

    while (group < io->groups + io->n_groups && group->rows[TOTAL] != slow->row)
        group++;
    for (unsigned i = 0; i < io->n_handlers && group < io->groups + io->n_groups; i++)
        if (io->handlers[i].origin == slow->origin && io->handlers[i].device == group->numbers[1])
            return io->handlers[i].pid;
    return PID_UNKNOWN;
}

/* Puts what thread PID did, unless it is unknown. */
static void put_thread(const struct io *io, int32_t pid, int64_t begin, int64_t end,
                       const struct clock *clock, struct text *text)
{
    if (pid != PID_UNKNOWN)
        io_why_put_thread(&io->why, pid, begin, end, clock, text);
}

/* What those did that had to act in the stage that ends at POINT: the thread of the vCPU that queues the request and
 * notifies the VMM, and the VMM's that is notified; the VMM's that handles the request; the thread of the vCPU that is
 * interrupted. Of a request of the host's kernel, the thread that queues it. */
static void put_why(const struct io *io, const struct slow_span *slow, unsigned point,
                    int64_t begin, int64_t end, const struct clock *clock, struct text *text)
{
    bool is_host = slow->origin->layer == LAYER_HOST;
    int32_t at_begin = is_host ? slow->pid : io_why_vcpu_thread(&io->why, slow->vcpu);
    int32_t at_end = is_host ? PID_UNKNOWN : io_why_vcpu_thread(&io->why, slow->end_vcpu);
    bool is_first =
        point == IO_INTERRUPT || (point == IO_COMPLETED && slow->at[IO_INTERRUPT] == TIME_UNKNOWN);
    int32_t handler;

    if (slowest_n(&io->rows.slowest) > IO_WHY_SPANS_MAX)
        return;
    if (is_first && !slow->kind) { /* device */
        handler = is_host ? PID_UNKNOWN : find_handler(io, slow);
        if (handler != PID_UNKNOWN)
            io_why_put_text(&io->why, handler, begin, end, clock, text);
        if (at_begin != at_end && !is_host)
            put_thread(io, at_begin, begin, end, clock, text);
        put_thread(io, at_end, begin, end, clock, text);
        return;
    }
    if (point <= IO_KICKED || (point == IO_HANDLED && slow->at[IO_KICKED] == TIME_UNKNOWN))
        put_thread(io, at_begin, begin, end, clock, text);
    else if (is_first || point == IO_COMPLETED)
        put_thread(io, at_end, begin, end, clock, text);
    if (point == IO_KICKED && slow->first_pid != at_begin)
        put_thread(io, slow->first_pid, begin, end, clock, text);
    if (point == IO_SUBMITTED && slow->other_pid != PID_UNKNOWN &&
        io_why_slept(&io->why, slow->other_pid, begin, end) > (end - begin) / 2)
        /* as while QEMU throttles the request: what it waited for between is not the reason */
        put_thread(io, slow->other_pid, begin, end, clock, text);
    else if (point >= IO_HANDLED && point <= IO_NOTIFIED && slow->other_pid != PID_UNKNOWN)
        io_why_put_text(&io->why, slow->other_pid, begin, end, clock, text);
}

/* Why a stage that ends at POINT took so long from BEGIN to END. *RET_WHY is in the result; NULL: nothing is known. */
static int add_why(const struct io *io, struct result *result, const struct slow_span *slow,
                   unsigned point, int64_t begin, int64_t end, const char *const **ret_why)
{
    struct text text = TEXT_IN_MEMORY;
    const char **why = NULL;
    int r = 0;

    put_why(io, slow, point, begin, end, &result->clock, &text);
    if (text_len(&text) > 0 || text.error) {
        why = arena_alloc(&result->arena, 2 * sizeof *why);
        if (why)
            why[0] = text.error ? NULL : arena_strndup(&result->arena, text.start, text_len(&text));
        r = why && why[0] ? 0 : -ENOMEM;
        if (why)
            why[1] = NULL;
    }
    text_done(&text);
    *ret_why = why;
    return r;
}

/* The point that an open request waits for: the next one that requests of the trace have passed; within the VMM, where none
 * has passed any of these, the next one. */
static unsigned next_point(const struct io *io, const struct slow_span *slow)
{
    unsigned last = IO_COMPLETED, until;

    while (slow->at[last] == TIME_UNKNOWN)
        last--;
    /* With its device. */
    if (!slow->kind)
        return IO_COMPLETED;
    until = last < IO_RETURNED ? IO_RETURNED : IO_COMPLETED;
    for (unsigned next = last + 1; next <= until; next++)
        if (io->tracker.counts.points >> next & 1)
            return next;
    return last + 1;
}

/* Adds a stage from COPY's last one, or its begin, to END; COPY->stages is STAGES. */
static int add_stage(const struct io *io, struct result *result, const struct slow_span *slow,
                     unsigned point, int64_t end, struct result_slow *copy,
                     struct result_stage *stages)
{
    int64_t begin = copy->n_stages > 0 ? stages[copy->n_stages - 1].end : slow->begin;
    struct io_request request = {.vmm = slow->kind};
    struct result_stage *stage = &stages[copy->n_stages++];

    memcpy(request.at, slow->at, sizeof request.at);
    *stage = (struct result_stage){.name = stage_name(&request, point), .begin = begin, .end = end};
    return add_why(io, result, slow, point, begin, end, &stage->why);
}

static int add_slowest(const struct io *io, struct result *result)
{
    for (unsigned i = 0; i < slowest_n(&io->rows.slowest); i++) {
        const struct slow_span *slow = slowest_get(&io->rows.slowest, i);
        struct result_stage stages[IO_POINTS];
        struct result_slow copy = {.begin = slow->begin,
                                   .end = slow->end,
                                   .is_open = slow->is_open,
                                   .error_ns = slow->error_ns,
                                   .cpu = slow->cpu,
                                   .pid = slow->pid,
                                   .vcpu = slow->vcpu,
                                   .origin = slow->origin,
                                   .row = result->rows[slow->row->number],
                                   .stages = stages};
        int r = 0;

        for (unsigned j = 1; j < IO_POINTS && r == 0; j++)
            if (slow->at[j] != TIME_UNKNOWN && (copy.n_stages > 0 || slow->at[j] != slow->begin))
                r = add_stage(io, result, slow, j, slow->at[j], &copy, stages);
        if (r == 0 && slow->is_open)
            r = add_stage(io, result, slow, next_point(io, slow), slow->end, &copy, stages);
        if (r < 0 || result_add_slow(result, &copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool has_events(const struct analysis *analysis)
{
    const struct io *io = container_of(analysis, const struct io, analysis);

    return io->tracker.counts.points != 0 &&
           (io->n_groups > 0 || io->analysis.left_out > 0 || io->has_unselected ||
            io->tracker.counts.fates[SPAN_OPEN] > 0);
}

/* Whether states may be missing of one of the slowest. */
static bool lacks_states(const struct io *io)
{
    const struct slowest *slowest = &io->rows.slowest;

    for (unsigned i = 0; i < slowest_n(slowest) && slowest_n(slowest) <= IO_WHY_SPANS_MAX; i++) {
        const struct slow_span *slow = slowest_get(slowest, i);

        if (slow->is_partial || slow->begin < io->why.all_gone_until)
            return true;
    }
    return false;
}

static int add_note_of_states(const struct io *io, struct result *result)
{
    struct text until = TEXT_IN_MEMORY;
    int r = 0;

    clock_put_time(&result->clock, MAX(io->why.gone_until, io->why.all_gone_until), &until);
    if (!until.error)
        r = result_add_note(result,
                            "what threads of the host did before %.*s is not all kept (at most %u "
                            "states are): stages before may lack the reason; give --from and "
                            "--until",
                            (int)text_len(&until), until.start, io->why.max);
    text_done(&until);
    return r;
}

/* What is missing, and how it is recorded. */
static int add_notes(const struct io *io, struct result *result)
{
    const struct io_counts *counts = &io->tracker.counts;
    struct text missing = TEXT_IN_MEMORY;
    int r = 0;

    for (unsigned i = 0; i < IO_POINTS; i++)
        if (!(counts->points >> i & 1)) {
            text_put_str(&missing, missing.start ? ", " : "");
            io_point_put_events((enum io_point)i, &missing);
        }
    if (r >= 0 && io->n_groups > 0 && text_len(&missing) > 0)
        r = result_add_note(result,
                            IO_NOTE_MISSING "%.*s; the stage that each would end is part of the "
                                            "next one",
                            (int)text_len(&missing), missing.start);
    for (unsigned i = 0; i < IO_POINTS && r >= 0 && io->n_groups > 0; i++)
        if (!(counts->points >> i & 1) && counts->unknown[i])
            r = result_add_note(result, "the trace has '%s', which may end stage '%s'; %s",
                                counts->unknown[i], io_stage_name(MAX((enum io_point)i, IO_ISSUED)),
                                counts->undeclared >> i & 1
                                    ? "it has no fields, as its declaration is missing, and is not "
                                      "used; give the trace-events-all of the QEMU that wrote the "
                                      "trace with --trace-events"
                                    : "its name or its fields are not those of a known version, "
                                      "and it is not used");
    if (r >= 0 && counts->ambiguous > 0)
        r = result_add_note(result,
                            counts->ambiguous == 1
                                ? "%" PRIu64 " request may be that of several of the other layer, "
                                  "and is not joined"
                                : "%" PRIu64 " requests may be those of several of the other "
                                  "layer, and are not joined",
                            counts->ambiguous);
    if (r >= 0 && counts->unthreaded > 0)
        r = result_add_note(
            result,
            "%" PRIu64 " submission%s to QEMU's thread pool while several requests were handled "
            "%s of an unknown thread, as in the log of QEMU 11.1: with several iothreads, stages "
            "vmm and backend may be those of another request",
            counts->unthreaded, counts->unthreaded == 1 ? "" : "s",
            counts->unthreaded == 1 ? "is" : "are");
    if (r >= 0 && counts->opaque > 0)
        r = result_add_note(
            result,
            "%" PRIu64 " submission%s to the thread pool may belong to several "
            "requests, and %s not joined; record blk_co_preadv and blk_co_pwritev, too",
            counts->opaque, counts->opaque == 1 ? "" : "s", counts->opaque == 1 ? "is" : "are");
    if (r >= 0 && lacks_states(io))
        r = add_note_of_states(io, result);
    text_done(&missing);
    return r;
}

static int add_rows(struct analysis *analysis, struct result *result)
{
    struct io *io = get_io(analysis);
    int r = result_add_duration_rows(result, &io->columns, &io->rows);

    for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++)
        result->unpaired[fate] = io->tracker.counts.fates[fate];
    if (r >= 0)
        r = add_slowest(io, result);
    if (r >= 0)
        r = name_not_joined(io, result);
    if (r >= 0)
        r = order_rows(io, result);
    return r >= 0 ? add_notes(io, result) : r;
}

int io_init(struct io *io, const struct analysis_settings *settings)
{
    static const struct sink_ops sink_ops = {.put = put, .finish = finish};
    static const struct analysis_ops ops = {.name = "io",
                                            .add_columns = add_columns,
                                            .add_rows = add_rows,
                                            .has_events = has_events,
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
    if (IO_OWN_KEYS + n_by > ROW_KEYS)
        return -EINVAL;
    r = rows_init(&io->rows, IO_OWN_KEYS + n_by, settings->slowest, settings->every,
                  settings->has_batches);
    if (r >= 0)
        r = rows_init(&io->by, n_by, 0, 0, false);
    if (r >= 0)
        r = io_why_init(&io->why);
    return r < 0 ? r
                 : io_tracker_init(&io->tracker, &settings->clock,
                                   n_by > 0 ? &by_ops : &tracker_ops, io);
}

void io_done(struct io *io)
{
    io_tracker_done(&io->tracker);
    io_why_done(&io->why);
    rows_done(&io->rows);
    rows_done(&io->by);
    free(io->groups);
}
