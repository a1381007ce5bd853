/* SPDX-License-Identifier: MIT */
/* Who was the cause of how much of each interval. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_internal.h"
#include "base/hash.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "event/own_threads.h"

/* ---- words ---- */

static void put_thread(const struct origin *origin, int32_t pid, bool with_pid, struct text *text)
{
    const char *name = origin_task_name(origin, pid);

    if (with_pid || !name)
        origin_put_thread(origin, name ? name : "", pid, text);
    else if (origin->vms_are_named && origin->vm_name(origin, pid))
        text_printf(text, "%s's %s", origin->vm_name(origin, pid), name);
    else
        text_put_str(text, name);
}

static void put_disk(const struct path_segment *segment, struct text *text)
{
    char device[IO_DEVICE_SIZE];

    text_put_literal(text, "disk");
    if (segment->origin && segment->device != 0)
        text_printf(text, " %s", io_device_text(device, segment->origin->layer, segment->device));
}

void path_put_who(const struct path_segment *segment, bool with_pid, struct text *text)
{
    if (segment->what == PATH_QUEUED || segment->what == PATH_DISK)
        put_disk(segment, text);
    else if (segment->origin && segment->pid > 0)
        put_thread(segment->origin, segment->pid, with_pid, text);
    else if (segment->what == PATH_INTERRUPT)
        text_put_literal(text, "interrupt");
    else if (segment->what == PATH_TIMER)
        text_put_literal(text, "timer");
    else
        text_put_char(text, '?');
}

const char *path_what_name(const struct path_segment *segment)
{
    static const char *const names[] = {
        [PATH_RUNS] = "runs",
        [PATH_EXIT] = "outside its guest",
        [PATH_WAITS] = "waits for a CPU",
        [PATH_QUEUED] = "queued",
        [PATH_DISK] = "device",
        [PATH_SLEEPS] = "sleeps",
        [PATH_TIMER] = "sleeps",
        [PATH_INTERRUPT] = "sleeps",
        [PATH_STAGE] = "stage",
        [PATH_UNKNOWN] = "?",
    };

    if (segment->what == PATH_STAGE)
        return segment->name;
    if (segment->what == PATH_INTERRUPT && segment->pid == PID_UNKNOWN)
        return "handled";
    return names[segment->what];
}

static const char *reason_text(enum path_reason reason)
{
    static const char *const texts[] = {
        [PATH_REASON_NONE] = "?",
        [PATH_NO_STATES] = "? no scheduler events of its kernel",
        [PATH_OTHER_NUMBERS] = "? its number on the host is not known",
        [PATH_NO_HOST] = "? no scheduler events of the host",
        [PATH_NO_THREAD] = "? which thread is not known",
        [PATH_NOT_SEEN] = "? events are missing",
        [PATH_TOO_OLD] = "? too long ago",
        [PATH_NO_WAKER] = "? who woke it is not known",
        [PATH_NOT_WOKEN] = "? it is woken later",
        [PATH_MAYBE_IRQ] = "? interrupts are not recorded",
        [PATH_NO_REQUEST] = "? until a request that is not known",
        [PATH_NO_BEGIN] = "? before the request",
        [PATH_TOO_DEEP] = "? too many steps",
    };

    return texts[reason];
}

void path_put_cause(const struct path_segment *segment, const struct path_behind *behind,
                    bool with_pid, struct text *text)
{
    if (behind) {
        text_put_str(text, behind->by == RUN_UNKNOWN     ? "? what ran is not known"
                           : behind->by == RUN_IDLE      ? "idle CPU"
                           : behind->by == RUN_INTERRUPT ? "behind interrupts"
                                                         : "behind ");
        if (behind->by >= 0)
            put_thread(segment->origin, behind->by, with_pid, text);
        return;
    }
    switch ((enum path_what)segment->what) {
    case PATH_TIMER: text_put_literal(text, "timer"); break;
    case PATH_INTERRUPT:
        text_put_literal(text, "interrupt");
        if (segment->name)
            text_printf(text, " %s", segment->name);
        break;
    case PATH_RUNS:
        text_put_str(text, segment->call ? "before it wakes " : "-");
        if (segment->call)
            put_thread(segment->origin, segment->wakes, with_pid, text);
        break;
    case PATH_EXIT: text_printf(text, "exit %s", segment->name ? segment->name : "?"); break;
    case PATH_STAGE:
    case PATH_UNKNOWN: text_put_str(text, reason_text((enum path_reason)segment->reason)); break;
    default: text_put_char(text, '-'); break;
    }
    if (segment->call)
        text_printf(text, ", %s", segment->call);
}

void path_put_group(const struct path_group *group, struct text *text)
{
    if (group->name)
        text_put_str(text, group->name);
    else if (group->origin)
        text_printf(text, "%s %s", layer_name(group->origin->layer), io_kind_name(group->kind));
}

/* ---- rows ---- */

static int make_rows_room(struct path *path)
{
    unsigned room = MAX(path->rows_room * 2, 64u);
    struct path_sums *sums = realloc(path->sums, room * sizeof *sums);
    uint64_t *counted;
    int64_t *parts;
    uint32_t *errors, *touched;

    if (!sums)
        return -ENOMEM;
    memset(sums + path->rows_room, 0, (room - path->rows_room) * sizeof *sums);
    path->sums = sums;
    path->n_sums = room;
    counted = realloc(path->counted, room * sizeof *counted);
    if (!counted)
        return -ENOMEM;
    memset(counted + path->rows_room, 0, (room - path->rows_room) * sizeof *counted);
    path->counted = counted;
    parts = realloc(path->parts, room * sizeof *parts);
    if (!parts)
        return -ENOMEM;
    path->parts = parts;
    errors = realloc(path->errors, room * sizeof *errors);
    if (!errors)
        return -ENOMEM;
    path->errors = errors;
    touched = realloc(path->touched, room * sizeof *touched);
    if (!touched)
        return -ENOMEM;
    path->touched = touched;
    path->rows_room = room;
    return 0;
}

static bool is_own(const struct path_segment *segment, const struct path_behind *behind)
{
    int32_t pid = behind ? behind->by : segment->pid;

    return segment->origin && pid > 0 &&
           own_thread_is(segment->origin, pid, origin_task_name(segment->origin, pid));
}

/* The row of SEGMENT, or of the part in which it waits BEHIND another one. NULL: memory is out. */
static struct row *get_row(struct path *path, unsigned group, const struct path_segment *segment,
                           const struct path_behind *behind)
{
    struct text *who = &path->text[0], *cause = &path->text[1], *of = &path->text[2];
    const char *what = path_what_name(segment);
    const char *layer = segment->origin ? layer_name(segment->origin->layer) : "?";
    uint64_t numbers[ROW_KEYS] = {0};
    struct row *row;
    bool is_new;

    who->next = who->start;
    cause->next = cause->start;
    path_put_who(segment, false, who);
    text_put_char(who, '\0');
    path_put_cause(segment, behind, false, cause);
    text_put_char(cause, '\0');
    if (who->error || cause->error)
        return NULL;
    numbers[0] = group;
    numbers[1] = segment->origin ? segment->origin->layer : LAYERS;
    numbers[2] = hash_bytes(who->start, text_len(who));
    numbers[3] = hash_bytes(what, strlen(what));
    numbers[4] = hash_bytes(cause->start, text_len(cause));
    row = rows_find(&path->rows, numbers);
    is_new = !row;
    if (is_new) {
        const char *keys[ROW_KEYS] = {NULL, layer, who->start, what, cause->start};

        of->next = of->start;
        path_put_group(&path->groups[group], of);
        text_put_char(of, '\0');
        if (of->error)
            return NULL;
        keys[0] = of->start;
        row = rows_add(&path->rows, numbers, keys);
        if (row && !row->origin)
            row->origin = segment->origin;
    }
    while (row && row->number >= path->rows_room)
        if (make_rows_room(path) < 0)
            return NULL;
    if (row && is_new)
        path->sums[row->number].is_own = is_own(segment, behind);
    return row;
}

/* A part of SEGMENT; BEHIND: who ran. */
static int put_part(struct path *path, unsigned group, const struct path_segment *segment,
                    const struct path_behind *behind, int64_t begin, int64_t end)
{
    const struct row *row = get_row(path, group, segment, behind);
    struct analysis_span span = {.begin = begin,
                                 .end = end,
                                 .error_ns = segment->error_ns,
                                 .cpu = segment->cpu,
                                 .pid = segment->pid,
                                 .vcpu = VCPU_UNKNOWN,
                                 .origin = segment->origin};

    if (!row)
        return -ENOMEM;
    span.keys = row->keys;
    span.numbers = row->values;
    span.has_number = row->has_value;
    return path->analysis.put_span(path->analysis.put_span_arg, &span);
}

struct putting {
    struct path *path;
    unsigned group;
    const struct path_segment *segment;
};

static int put_run(void *arg, int32_t by, int64_t begin, int64_t end)
{
    const struct putting *putting = arg;

    return put_part(putting->path, putting->group, putting->segment,
                    &(struct path_behind){.by = by}, begin, end);
}

/* What ran while SEGMENT waited, one after the other; else all of it. */
static int put_span(struct path *path, unsigned group, const struct path_segment *segment)
{
    if (segment->n_behind == 0)
        return put_part(path, group, segment, NULL, segment->begin, segment->end);
    return cpu_log_foreach(history_cpu(&path->finder.history, segment->origin, segment->cpu),
                           segment->begin, segment->end, put_run,
                           &(struct putting){path, group, segment});
}

/* TICKS of the interval that is counted are of SEGMENT. */
static int add_part(struct path *path, unsigned group, const struct path_segment *segment,
                    const struct path_behind *behind, int64_t ticks)
{
    struct row *row = get_row(path, group, segment, behind);

    if (!row)
        return -ENOMEM;
    if (path->counted[row->number] != path->n_intervals) {
        path->counted[row->number] = path->n_intervals;
        path->parts[row->number] = 0;
        path->errors[row->number] = 0;
        path->touched[path->n_touched++] = row->number;
    }
    path->errors[row->number] = MAX(path->errors[row->number], segment->error_ns);
    path->parts[row->number] = ticks_sum(path->parts[row->number], ticks);
    return 0;
}

static int add_sum(struct path_sums *sums, unsigned bucket, int64_t ticks)
{
    int64_t **doubling = &sums->doublings[bucket >> HISTOGRAM_SUB_BITS];

    if (!*doubling)
        *doubling = calloc(1u << HISTOGRAM_SUB_BITS, sizeof **doubling);
    if (!*doubling)
        return -ENOMEM;
    (*doubling)[bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)] += ticks;
    return 0;
}

/* ---- the longest ---- */

void path_chain_free(void *chain)
{
    struct path_chain *freed = chain;

    if (!freed)
        return;
    free(freed->segments);
    free(freed->behind);
    free(freed);
}

static struct path_chain *make_chain(const struct path_walk *walk,
                                     const struct path_pending *pending,
                                     const struct io_request *request)
{
    struct path_chain *chain = calloc(1, sizeof *chain);

    if (!chain)
        return NULL;
    chain->group = pending->group;
    if (request) {
        chain->device = request->device;
        chain->sector = request->sector;
    }
    chain->n = walk->n;
    chain->segments = malloc(MAX(walk->n, 1u) * sizeof *chain->segments);
    chain->behind = malloc(MAX(walk->n_behind, 1u) * sizeof *chain->behind);
    if (!chain->segments || !chain->behind) {
        path_chain_free(chain);
        return NULL;
    }
    memcpy(chain->segments, walk->segments, walk->n * sizeof *chain->segments);
    if (walk->n_behind > 0)
        memcpy(chain->behind, walk->behind, walk->n_behind * sizeof *chain->behind);
    return chain;
}

static int keep_slow(struct path *path, const struct path_pending *pending,
                     const struct io_request *request)
{
    struct slow_span slow = {.begin = pending->begin,
                             .end = pending->until,
                             .error_ns = pending->error_ns,
                             .cpu = pending->cpu,
                             .pid = pending->pid,
                             .vcpu = pending->vcpu,
                             .origin = pending->origin};

    if (!slowest_would_keep(&path->rows.slowest, ticks_between(slow.begin, slow.end), false))
        return 0;
    slow.kind = make_chain(&path->finder.walk, pending, request);
    if (!slow.kind)
        return -ENOMEM;
    slowest_keep(&path->rows.slowest, &slow);
    return 0;
}

/* ---- all ---- */

int path_count(struct path *path, const struct path_pending *pending,
               const struct io_request *request)
{
    const struct path_walk *walk = &path->finder.walk;
    int64_t duration = ticks_between(pending->begin, pending->until);
    unsigned bucket = histogram_bucket((uint64_t)duration);
    struct path_group *group = &path->groups[pending->group];
    int r = histogram_add(&group->all, (uint64_t)duration);

    path->n_intervals++;
    path->n_touched = 0;
    group->total = ticks_sum(group->total, duration);
    for (unsigned i = 0; i < walk->n && r >= 0; i++) {
        const struct path_segment *segment = &walk->segments[i];

        if (segment->n_behind == 0)
            r = add_part(path, pending->group, segment, NULL, segment->end - segment->begin);
        for (unsigned j = 0; j < segment->n_behind && r >= 0; j++) {
            const struct path_behind *behind = &walk->behind[segment->first_behind + j];

            r = add_part(path, pending->group, segment, behind, behind->ticks);
        }
        if (r >= 0 && path->analysis.put_span)
            r = put_span(path, pending->group, segment);
    }
    for (unsigned i = 0; i < path->n_touched && r >= 0; i++) {
        uint32_t number = path->touched[i];
        struct row *row = path->rows.rows[number];

        if (row->origin)
            row_note_source(&path->rows, row, row->origin, row->origin, CPU_UNKNOWN, VCPU_UNKNOWN,
                            false, false);
        r = row_count(&path->rows, row, pending->begin, path->parts[number], path->errors[number]);
        if (r >= 0)
            r = add_sum(&path->sums[number], bucket, path->parts[number]);
    }
    if (r >= 0 && path->rows.slowest.max > 0)
        r = keep_slow(path, pending, request);
    return r;
}
