/* SPDX-License-Identifier: MIT */
#include "export/timeline/slices.h"

#include <string.h>

#include "base/utf8.h"
#include "event/program.h"
#include "event/value.h"

#define KERNEL_LAYER(layer) ((layer) == LAYER_GUEST || (layer) == LAYER_HOST)

/* A name of slices, taken apart: text, and the value of a field behind it. */
struct name_piece {
    const char *text;
    size_t len;
    int field; /* -1: none */
};

#define NAME_PIECES 4

/* What is known of a class. */
struct plan {
    bool made;
    bool ends_thread;
    bool on_thread;     /* where it is an instant */
    int task, comm;     /* fields that tell a thread's name; -1: none */
    unsigned n_classes; /* that there were when it was made */
    struct pair_match match;
    struct name_piece name[NAME_PIECES];
    unsigned n_name;
    struct pair *pair;
    const struct counter_rule *counter;
    int counter_value, counter_id; /* fields */
};

static int made(void *arg, const struct track *track)
{
    struct slices *slices = arg;

    return slices->ops->track(slices, track);
}

static int put_unknown(void *arg, const struct state_interval *interval);

int slices_init(struct slices *slices, const struct export_options *options,
                const struct slices_ops *ops)
{
    static const struct states_ops states_ops = {put_unknown};

    *slices = (struct slices){.ops = ops, .options = options, .name = TEXT_IN_MEMORY};
    states_init(&slices->states, &states_ops, slices);
    slices->tracks.catalogue = options->catalogue;
    slices->tracks.origin_number = options->origin_number;
    slices->tracks.origin_arg = options->origin_arg;
    slices->tracks.made = made;
    slices->tracks.made_arg = slices;
    for (unsigned i = 1; i < options->catalogue->n_origins; i++)
        if (options->catalogue->origins[i]->layer != options->catalogue->origins[0]->layer)
            slices->has_flows = true;
    return options->n_rules > 0 ? pair_spans_init(&slices->pair_spans, slices) : 0;
}

void slices_done(struct slices *slices)
{
    pair_spans_done(&slices->pair_spans);
    joins_done(&slices->flows);
    states_done(&slices->states);
    tracks_done(&slices->tracks);
    text_done(&slices->name);
    free(slices->plans);
    slices->plans = NULL;
    slices->n_plans = 0;
}

/* Takes the name of CLASS's slices apart: "irq {name}". */
static void compile_name(struct plan *plan, const struct event_class *class)
{
    const char *p = plan->match.name;

    while (plan->n_name < NAME_PIECES && (*p || plan->n_name == 0)) {
        struct name_piece *piece = &plan->name[plan->n_name++];
        const char *brace = strchr(p, '{');
        const char *end = brace ? strchr(brace, '}') : NULL;

        *piece = (struct name_piece){.text = p, .len = strlen(p), .field = -1};
        if (!end)
            break;
        piece->len = (size_t)(brace - p);
        for (unsigned i = 0; i < class->n_fields; i++)
            if (strlen(class->fields[i].name) == (size_t)(end - brace - 1) &&
                memcmp(class->fields[i].name, brace + 1, (size_t)(end - brace - 1)) == 0)
                piece->field = (int)i;
        p = end + 1;
    }
}

static _cold_ int make_plan(struct slices *slices, struct group *group,
                            const struct event_class *class)
{
    struct plan plan = {.made = true, .n_classes = slices->options->catalogue->n_classes};
    int r;

    if (class->index >= slices->n_plans) {
        unsigned n = MAX(class->index + 1, slices->n_plans * 2);
        struct plan *bigger = realloc(slices->plans, n * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        memset(bigger + slices->n_plans, 0, (n - slices->n_plans) * sizeof *bigger);
        slices->plans = bigger;
        slices->n_plans = n;
    }
    r = pair_find(slices->options->catalogue, class, &slices->tracks.arena, &plan.match);
    if (r < 0)
        return r;
    if (plan.match.role != PAIR_NONE) {
        plan.pair = tracks_pair(&slices->tracks, group, plan.match.pair);
        if (!plan.pair)
            return -ENOMEM;
        plan.on_thread = plan.match.place == ON_THREAD;
        compile_name(&plan, class);
    }
    plan.counter = counter_find(class);
    if (plan.counter) {
        plan.counter_value = event_class_field(class, plan.counter->value);
        plan.counter_id = event_class_field(class, plan.counter->id);
    }
    plan.task = plan.comm = -1;
    if (KERNEL_LAYER(class->origin->layer)) {
        plan.task = event_class_field(class, "next_pid");
        plan.comm = event_class_field(class, "next_comm");
        if (plan.comm >= 0 && class->fields[plan.comm].type != FIELD_STRING)
            plan.comm = -1;
        plan.ends_thread = strcmp(class->name, "sched_process_exit") == 0;
        /* What programs write into their kernel's trace. */
        plan.on_thread = plan.on_thread || strcmp(class->name, "print") == 0;
    } else if (class->origin->layer != LAYER_HYPERVISOR) {
        plan.on_thread = true;
    }
    slices->plans[class->index] = plan;
    return 0;
}

/* NULL when memory is out. */
static inline struct plan *get_plan(struct slices *slices, struct group *group,
                                    const struct event_class *class)
{
    struct plan *plan = class->index < slices->n_plans ? &slices->plans[class->index] : NULL;

    if (likely(plan && plan->made &&
               (!plan->match.partner_missing ||
                plan->n_classes == slices->options->catalogue->n_classes)))
        return plan;
    return make_plan(slices, group, class) < 0 ? NULL : &slices->plans[class->index];
}

static inline void put(struct slices *slices, const struct slice *slice)
{
    slices->ops->slice(slices, slice);
}

/* ---- slices ---- */

/* When something begins or ends on TRACK: not before what did so last. */
static int64_t step(struct track *track, int64_t ns)
{
    track->last = MAX(track->last, ns);
    return track->last;
}

/* Ends the innermost slice. */
static void end_top(struct slices *slices, struct track *track, int64_t ns, const struct item *item,
                    const char *cut)
{
    struct slice slice = {.kind = SLICE_END, .track = track, .item = item, .cut = cut};

    joins_end(&slices->flows, track_close(track)->flow,
              item && !cut ? ns + item->error_ns : INT64_MIN);
    slice.ns = step(track, ns);
    put(slices, &slice);
}

/* Cuts what is open on TRACK, down to N. */
static void cut(struct slices *slices, struct track *track, unsigned n, int64_t ns, const char *why)
{
    while (track->n_open > n)
        end_top(slices, track, ns, NULL, why);
}

/* Which slice of TRACK, from 0, is of PAIR and has these IDS; -1: none. */
static int find_open(const struct track *track, const struct pair *pair, const uint64_t *ids)
{
    for (unsigned i = track->n_open; i-- > 0;) {
        const struct open_slice *open = &track->open[i];

        if (open->pair == pair && memcmp(open->id, ids, sizeof open->id) == 0)
            return (int)i;
    }
    return -1;
}

/* Which slice of TRACK begins once more by PLAN, although it has not ended; -1: none. */
static int find_stale(const struct track *track, const struct plan *plan, const uint64_t *ids)
{
    for (unsigned i = 0; i < track->n_open; i++) {
        const struct open_slice *open = &track->open[i];

        if (open->rule == plan->match.rule &&
            (open->rule->alone ||
             (open->pair == plan->pair && memcmp(open->id, ids, sizeof open->id) == 0)))
            return (int)i;
    }
    return -1;
}

/* The track on which a slice of PAIR with IDS is open, or would be; NULL: nowhere, with *RET_ERROR 0 or
 * -ENOMEM. */
static struct track *place_of(struct slices *slices, struct group *group, const struct plan *plan,
                              const struct item *item, const uint64_t *ids, int *ret_error)
{
    struct track *track = NULL;

    *ret_error = 0;
    switch (plan->match.place) {
    case ON_CPU:
    case ON_INTERRUPTS:
        if (item->cpu == CPU_UNKNOWN)
            return NULL;
        track = tracks_cpu(&slices->tracks, group, item->cpu,
                           plan->match.place == ON_CPU ? TRACK_CPU : TRACK_CPU_INTERRUPTS);
        break;
    case ON_VCPU:
        if (item->vcpu == VCPU_UNKNOWN)
            return NULL;
        track = tracks_vcpu(&slices->tracks, group, item, TRACK_VCPU);
        break;
    case ON_THREAD:
        if (item->pid == PID_UNKNOWN)
            return NULL;
        track = tracks_thread(&slices->tracks, group, item);
        break;
    case ON_LANES: return lanes_find(&plan->pair->lanes, ids);
    }
    if (!track)
        *ret_error = -ENOMEM;
    return track;
}

static void put_field_value(struct text *text, const struct item *item, int number)
{
    const struct field *field = &item->class->fields[number];
    struct value value = item_value(item, (unsigned)number);

    if (item_put_name(item, (unsigned)number, &value, text))
        return;
    if (!value.present)
        text_put_char(text, '?');
    else if (field->type == FIELD_STRING)
        utf8_put(text, value.s, value.len);
    else
        value_put(field, &value, text);
}

/* The name of a slice. */
static void make_name(struct slices *slices, const struct plan *plan, const struct item *item,
                      struct slice *slice)
{
    struct text *name = &slices->name;

    slice->name = plan->name[0].text;
    slice->name_len = plan->name[0].len;
    if (plan->n_name == 1 && plan->name[0].field < 0)
        return;
    name->next = name->start;
    for (unsigned i = 0; i < plan->n_name; i++) {
        text_put(name, plan->name[i].text, plan->name[i].len);
        if (plan->name[i].field >= 0)
            put_field_value(name, item, plan->name[i].field);
    }
    if (name->error)
        return;
    /* An empty one may have no memory. */
    slice->name = name->start ? name->start : "";
    slice->name_len = text_len(name);
}

static uint64_t number_of(const struct item *item, int field)
{
    struct value value;

    if (field < 0)
        return 0;
    value = item_value(item, (unsigned)field);
    return value.present && item->class->fields[field].storage == STORE_SCALAR ? value.u : 0;
}

/* False: ITEM lacks a field that begin and end have in common, so that nothing tells which of them belong together. */
static inline bool read_ids(const struct plan *plan, const struct item *item, uint64_t *ids)
{
    for (unsigned i = 0; i < PAIR_IDS; i++) {
        int field = plan->match.id[i];
        struct value value;

        ids[i] = 0;
        if (field < 0)
            continue;
        value = item_value(item, (unsigned)field);
        if (unlikely(!value.present))
            return false;
        if (item->class->fields[field].storage == STORE_SCALAR)
            ids[i] = value.u;
    }
    return true;
}

/* Whether a request writes ('W'), reads ('R') or does neither (0). */
static char flow_kind(const struct plan *plan, const struct item *item)
{
    const char *kind = plan->match.rule->flow_kind;
    size_t len = 1;
    struct value value;

    if (plan->match.flow_kind >= 0) {
        value = item_value(item, (unsigned)plan->match.flow_kind);
        if (!value.present || item->class->fields[plan->match.flow_kind].type != FIELD_STRING)
            return 0;
        kind = value.s;
        len = value.len;
    }
    if (memchr(kind, 'W', len))
        return 'W';
    return memchr(kind, 'R', len) ? 'R' : 0;
}

/* Enters a request among the flows: *RET_FLOW. 0, -ENOMEM. */
static int begin_flow(struct slices *slices, const struct plan *plan, const struct item *item,
                      int64_t ns, struct slice *slice, uint32_t *ret_flow)
{
    uint64_t words[JOIN_WORDS];

    if (!slices->has_flows || !plan->match.rule->flow[0])
        return 0;
    words[0] = number_of(item, plan->match.flow[0]);
    words[1] = number_of(item, plan->match.flow[1]);
    words[2] = (uint64_t)flow_kind(plan, item);
    /* A flush has no length, and so nothing to be known by. */
    if (words[1] == 0 || words[2] == 0)
        return 0;
    return joins_begin(&slices->flows, item->origin->layer, words, ns - item->error_ns, ret_flow,
                       &slice->flow, &slice->flow_joins);
}

static int open_slice(struct slices *slices, struct track *track, const struct plan *plan,
                      const struct item *item, int64_t ns, const uint64_t *ids)
{
    struct slice slice = {.kind = SLICE_BEGIN, .track = track, .item = item};
    struct open_slice *open;

    open = track_open(&slices->tracks, track);
    if (!open)
        return -ENOMEM;
    *open = (struct open_slice){.rule = plan->match.rule, .pair = plan->pair};
    memcpy(open->id, ids, sizeof open->id);
    if (begin_flow(slices, plan, item, ns, &slice, &open->flow) < 0)
        return -ENOMEM;
    make_name(slices, plan, item, &slice);
    slice.ns = step(track, ns);
    put(slices, &slice);
    return 1;
}

/* What a CPU ran is not known, as a switch is missing. */
static int put_unknown(void *arg, const struct state_interval *interval)
{
    static const char name[] = "unknown";
    struct slices *slices = arg;
    struct slice slice = {.kind = SLICE_BEGIN, .name = name, .name_len = sizeof name - 1};
    const struct clock *clock = &interval->origin->clock;
    struct group *group;
    struct track *track;

    if (interval->of != STATE_OF_CPU || interval->state != STATE_UNKNOWN || slices->in_loss)
        return 0;
    group = tracks_group(&slices->tracks, interval->origin);
    track = group ? tracks_cpu(&slices->tracks, group, interval->id, TRACK_CPU) : NULL;
    if (!track)
        return -ENOMEM;
    cut(slices, track, 0, clock_to_ns(clock, interval->begin),
        "the switch to what ran next is not in the trace");
    slice.track = track;
    slice.ns = step(track, clock_to_ns(clock, interval->begin));
    put(slices, &slice);
    put(slices, &(struct slice){.kind = SLICE_END,
                                .track = track,
                                .ns = step(track, clock_to_ns(clock, interval->end))});
    slices->contradicted = track;
    return 0;
}

/* ITEM tells what runs on TRACK, although no switch does. */
static int open_found(struct slices *slices, struct group *group, struct track *track,
                      const struct item *item, int64_t ns)
{
    struct slice slice = {.kind = SLICE_BEGIN, .track = track};
    const char *task = item_task_name(item);
    struct text *name = &slices->name;
    struct open_slice *open;

    if (item->pid <= 0)
        return 0;
    open = track_open(&slices->tracks, track);
    if (!open)
        return -ENOMEM;
    *open = (struct open_slice){.pair = tracks_pair(&slices->tracks, group, "running")};
    if (!open->pair)
        return -ENOMEM;
    name->next = name->start;
    if (task && *task)
        utf8_put(name, task, strlen(task));
    else
        text_put_i64(name, item->pid);
    if (name->error)
        return -ENOMEM;
    slice.name = name->start;
    slice.name_len = text_len(name);
    slice.ns = step(track, ns);
    put(slices, &slice);
    return 0;
}

/* What begins ends what was: 1 when the item is told by that, 0 when not, -ENOMEM. */
static int switch_slice(struct slices *slices, struct track *track, const struct plan *plan,
                        const struct item *item, int64_t ns, const uint64_t *ids)
{
    bool idle =
        plan->match.idle >= 0 && number_of(item, plan->match.idle) == plan->match.rule->idle_value;
    int was;

    was = find_open(track, plan->pair, ids);
    if (was >= 0) {
        cut(slices, track, (unsigned)was + 1, ns, "what is around it ends");
        end_top(slices, track, ns, idle ? item : NULL, NULL);
        if (idle)
            return 1;
    }
    if (idle || track->n_open == OPEN_MAX) {
        (void)step(track, ns);
        return 0;
    }
    return open_slice(slices, track, plan, item, ns, ids);
}

/* 1 when the item is told as the begin of a slice, 0 when it is not one, -ENOMEM. */
static int begin_slice(struct slices *slices, struct group *group, const struct plan *plan,
                       const struct item *item, int64_t ns)
{
    struct pair *pair = plan->pair;
    uint64_t ids[PAIR_IDS];
    struct track *track;
    int was;
    int r;

    if (!read_ids(plan, item, ids))
        return 0;
    track = place_of(slices, group, plan, item, ids, &r);
    if (r < 0)
        return r;
    if (track && !plan->match.rule->end)
        return switch_slice(slices, track, plan, item, ns, ids);
    was = track && !plan->match.rule->nests ? find_stale(track, plan, ids) : -1;
    if (was >= 0) {
        /* Its end is not in the trace; of none yet, perhaps. */
        cut(slices, track, (unsigned)was, track->last, "no end was seen");
        pair->off = !pair->end_seen;
    }
    if (pair->off)
        return 0;
    if (plan->match.place == ON_LANES) {
        r = tracks_lane(&slices->tracks, group, pair, plan->match.pair, ids, &track);
        if (r < 0)
            return r == -ENOBUFS ? 0 : r;
    }
    if (!track || track->n_open == OPEN_MAX)
        return 0;
    return open_slice(slices, track, plan, item, ns, ids);
}

/* The same of the end. */
static int end_slice(struct slices *slices, struct group *group, const struct plan *plan,
                     const struct item *item, int64_t ns)
{
    uint64_t ids[PAIR_IDS];
    struct track *track;
    int at;
    int r;

    plan->pair->end_seen = true;
    plan->pair->off = false;
    if (!read_ids(plan, item, ids))
        return 0;
    track = place_of(slices, group, plan, item, ids, &r);
    if (!track)
        return r;
    at = find_open(track, plan->pair, ids);
    if (at < 0)
        return 0;
    cut(slices, track, (unsigned)at + 1, ns, "what is around it ends");
    end_top(slices, track, ns, item, NULL);
    return 1;
}

/* ---- instants, curves, losses ---- */

/* Where a capture has no list of its threads, its events tell what they are called. */
static int learn_name(struct slices *slices, struct group *group, const struct plan *plan,
                      const struct item *item)
{
    const struct origin *origin = item->origin;
    int32_t pid = (int32_t)number_of(item, plan->task);
    struct value comm;

    if (pid == 0 || (origin->task_name && origin->task_name(origin, pid)))
        return 0;
    comm = item_value(item, (unsigned)plan->comm);
    return comm.present ? tracks_name_thread(&slices->tracks, group, pid, comm.s, comm.len) : 0;
}

static struct track *instant_track(struct slices *slices, struct group *group, bool on_thread,
                                   const struct item *item)
{
    if (on_thread && item->pid != PID_UNKNOWN)
        return tracks_thread(&slices->tracks, group, item);
    if (item->vcpu != VCPU_UNKNOWN && !KERNEL_LAYER(group->layer))
        return tracks_vcpu(&slices->tracks, group, item, TRACK_VCPU_EVENTS);
    if (item->cpu != CPU_UNKNOWN)
        return tracks_cpu(&slices->tracks, group, item->cpu, TRACK_CPU_EVENTS);
    if (item->pid != PID_UNKNOWN)
        return tracks_thread(&slices->tracks, group, item);
    return tracks_single(&slices->tracks, group, TRACK_EVENTS);
}

static int put_counter(struct slices *slices, struct group *group, const struct plan *plan,
                       const struct item *item, int64_t ns)
{
    struct slice slice = {.kind = SLICE_COUNTER, .ns = ns};

    slice.track = tracks_counter(&slices->tracks, group, plan->counter, plan->counter_id >= 0,
                                 number_of(item, plan->counter_id));
    if (!slice.track)
        return -ENOMEM;
    slice.value = (int64_t)number_of(item, plan->counter_value);
    put(slices, &slice);
    return 0;
}

static int put_event(struct slices *slices, const struct item *item)
{
    struct group *group = tracks_group(&slices->tracks, item->origin);
    int64_t ns = export_ns(item, item->time);
    const struct plan *plan;
    int r = 0;

    if (unlikely(!group))
        return -ENOMEM;
    plan = get_plan(slices, group, item->class);
    if (unlikely(!plan))
        return -ENOMEM;
    slices->last_ns = ns;
    slices->contradicted = NULL;
    if (unlikely(states_put(&slices->states, item, 1) < 0))
        return -ENOMEM;
    if (unlikely(slices->contradicted && slices->contradicted->cpu == item->cpu &&
                 KERNEL_LAYER(item->origin->layer) && plan->match.idle < 0))
        r = open_found(slices, group, slices->contradicted, item, ns);
    if (unlikely(r < 0))
        return r;
    if (unlikely(plan->task >= 0 && plan->comm >= 0))
        r = learn_name(slices, group, plan, item);
    if (unlikely(r < 0))
        return r;
    if (plan->match.role == PAIR_BEGINS)
        r = begin_slice(slices, group, plan, item, ns);
    else if (plan->match.role == PAIR_ENDS)
        r = end_slice(slices, group, plan, item, ns);
    if (r == 0) {
        struct slice slice = {.kind = SLICE_INSTANT, .ns = ns, .item = item};

        slice.track = instant_track(slices, group, plan->on_thread, item);
        if (unlikely(!slice.track))
            return -ENOMEM;
        put(slices, &slice);
    }
    if (unlikely(plan->ends_thread && item->pid != PID_UNKNOWN && r >= 0)) {
        struct track *thread = tracks_thread(&slices->tracks, group, item);

        if (!thread)
            return -ENOMEM;
        cut(slices, thread, 0, ns, "the thread ends");
    }
    if (unlikely(plan->counter != NULL) && r >= 0)
        r = put_counter(slices, group, plan, item, ns);
    return r < 0 ? r : 0;
}

/* Whether what a loss of CPU took may be the end of what is open on TRACK: a thread may have gone to any
 * CPU. */
static bool may_have_ended(const struct track *track, int32_t cpu)
{
    return track->kind != TRACK_CPU_LOST && track->kind != TRACK_LOST &&
           (cpu == CPU_UNKNOWN || track->cpu == CPU_UNKNOWN || track->cpu == cpu);
}

static int put_loss(struct slices *slices, const struct item *item)
{
    static const char name[] = "lost";
    struct group *group = tracks_group(&slices->tracks, item->origin);
    int64_t ns = item->time == TIME_UNKNOWN ? slices->last_ns : export_ns(item, item->time);
    bool has_since = item->since != TIME_UNKNOWN && item->since < item->time;
    int64_t since = has_since ? export_ns(item, item->since) : ns;
    struct slice slice = {.kind = SLICE_INSTANT, .ns = ns, .item = item};
    struct track *track;

    if (!group)
        return -ENOMEM;
    slices->in_loss = true;
    if (states_put(&slices->states, item, 1) < 0)
        return -ENOMEM;
    slices->in_loss = false;
    slices->last_ns = ns;
    for (track = group->tracks; track; track = track->next) {
        if (!may_have_ended(track, item->cpu))
            continue;
        if (track->n_open > 0)
            cut(slices, track, 0, since, "events were lost");
    }
    track = item->cpu == CPU_UNKNOWN
                ? tracks_single(&slices->tracks, group, TRACK_LOST)
                : tracks_cpu(&slices->tracks, group, item->cpu, TRACK_CPU_LOST);
    if (!track)
        return -ENOMEM;
    slice.track = track;
    if (!has_since) {
        put(slices, &slice);
        return 0;
    }
    slice.kind = SLICE_BEGIN;
    slice.name = name;
    slice.name_len = sizeof name - 1;
    slice.ns = step(track, since);
    put(slices, &slice);
    slice = (struct slice){.kind = SLICE_END, .track = track, .ns = step(track, ns)};
    put(slices, &slice);
    return 0;
}

int slices_put(struct slices *slices, const struct item *items, unsigned n)
{
    bool has_rules = slices->options->n_rules > 0;

    for (unsigned i = 0; i < n; i++) {
        int r = likely(items[i].kind == ITEM_EVENT) ? put_event(slices, &items[i])
                                                    : put_loss(slices, &items[i]);

        if (unlikely(has_rules) && r == 0)
            r = pair_spans_put(&slices->pair_spans, &items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}
