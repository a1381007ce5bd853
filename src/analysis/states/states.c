/* SPDX-License-Identifier: MIT */
#include "analysis/states/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/states/state_source.h"
#include "event/class_map.h"
#include "event/kernel_event.h"

const char *state_name(enum state state)
{
    static const char *const names[STATES] = {
        [STATE_UNKNOWN] = "unknown",
        [STATE_RUNNING] = "running",
        [STATE_RUNNABLE] = "runnable",
        [STATE_WOKEN] = "woken",
        [STATE_PREEMPTED] = "preempted",
        [STATE_SLEEPING] = "sleeping",
        [STATE_UNINTERRUPTIBLE] = "uninterruptible",
        [STATE_OFFLINE] = "offline",
        [STATE_IDLE] = "idle",
        [STATE_INTERRUPT] = "interrupt",
        [STATE_BLOCKED] = "blocked",
        [STATE_PARTIAL_RUN] = "partial run",
        [STATE_FULL_RUN] = "full run",
        [STATE_PARTIAL_CONTENTION] = "partial contention",
        [STATE_CONCURRENCY_HAZARD] = "concurrency hazard",
        [STATE_FULL_CONTENTION] = "full contention",
    };

    return names[state];
}

/* ---- classes ---- */

struct quick_field state_number_field(const struct event_class *class, const char *name)
{
    struct quick_field quick = {.field = kernel_event_field(class, name)};
    const struct field *field;

    if (quick.field < 0)
        return quick;
    field = &class->fields[quick.field];
    if (field->storage != STORE_SCALAR) {
        quick.field = -1;
        return quick;
    }
    quick.quick = field->place == PLACE_FIXED &&
                  (field->size == 2 || field->size == 4 || field->size == 8) && !field->swap &&
                  field->bits == 0;
    quick.is_signed = field->type == FIELD_INT;
    quick.offset = field->offset;
    quick.size = field->size;
    return quick;
}

static void name_field(const struct event_class *class, const char *name, uint32_t *offset,
                       uint32_t *size, int *string)
{
    int i = event_class_field(class, name);

    *size = 0;
    *string = -1;
    if (i < 0 || class->fields[i].type != FIELD_STRING)
        return;
    if (class->fields[i].storage != STORE_ARRAY || class->fields[i].place != PLACE_FIXED) {
        *string = i;
        return;
    }
    *offset = class->fields[i].offset;
    *size = MIN(class->fields[i].size, (uint32_t)STATE_NAME_SIZE);
}

static void plan_kernel(const struct event_class *class, struct class_plan *plan)
{
    static const struct {
        const char *group, *name;
        enum plan_role role;
        const char *a, *b, *c;
    } events[] = {
        {"sched", "sched_switch", PLAN_SWITCH, "prev_pid", "next_pid", "prev_state"},
        {"sched", "sched_waking", PLAN_WAKING, "pid", "target_cpu", NULL},
        {"sched", "sched_wakeup", PLAN_WAKEUP, "pid", "target_cpu", NULL},
        {"sched", "sched_wakeup_new", PLAN_WAKEUP_NEW, "pid", "target_cpu", NULL},
        {"sched", "sched_migrate_task", PLAN_MIGRATE, "pid", "dest_cpu", NULL},
        {"sched", "sched_process_exit", PLAN_EXIT, "pid", NULL, NULL},
        {"sched", "sched_process_exec", PLAN_EXEC, "pid", "old_pid", NULL},
        {"irq", "irq_handler_entry", PLAN_INTERRUPT_BEGINS, NULL, NULL, NULL},
        {"irq", "irq_handler_exit", PLAN_INTERRUPT_ENDS, NULL, NULL, NULL},
        {"irq", "softirq_entry", PLAN_INTERRUPT_BEGINS, NULL, NULL, NULL},
        {"irq", "softirq_exit", PLAN_INTERRUPT_ENDS, NULL, NULL, NULL},
        {"irq_vectors", "*_entry", PLAN_INTERRUPT_BEGINS, NULL, NULL, NULL},
        {"irq_vectors", "*_exit", PLAN_INTERRUPT_ENDS, NULL, NULL, NULL},
        {KERNEL_GUEST_GROUP, KERNEL_GUEST_ENTRY, PLAN_GUEST_BEGINS, KERNEL_GUEST_VCPU, NULL, NULL},
        {KERNEL_GUEST_GROUP, KERNEL_GUEST_EXIT, PLAN_GUEST_ENDS, NULL, NULL, NULL},
    };

    plan->role = PLAN_STAMP;
    for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
        if (!kernel_event_is(class, events[i].group, events[i].name))
            continue;
        plan->role = (uint8_t)events[i].role;
        if (events[i].a)
            plan->a = state_number_field(class, events[i].a);
        if (events[i].b)
            plan->b = state_number_field(class, events[i].b);
        if (events[i].c)
            plan->c = state_number_field(class, events[i].c);
        if ((events[i].a && plan->a.field < 0 && plan->role != PLAN_GUEST_BEGINS) ||
            (plan->role == PLAN_SWITCH && plan->b.field < 0))
            plan->role = PLAN_STAMP;
    }
    if (plan->role == PLAN_SWITCH) {
        name_field(class, "prev_comm", &plan->a_name, &plan->room[0], &plan->string[0]);
        name_field(class, "next_comm", &plan->b_name, &plan->room[1], &plan->string[1]);
    } else if (plan->role == PLAN_WAKING || plan->role == PLAN_WAKEUP ||
               plan->role == PLAN_WAKEUP_NEW) {
        name_field(class, "comm", &plan->a_name, &plan->room[0], &plan->string[0]);
    }
}

static struct state_source *add_source(struct states *states, const struct origin *origin)
{
    struct state_source **more =
        realloc(states->sources, (states->n_sources + 1) * sizeof *states->sources);
    struct state_source *source = NULL;

    if (more) {
        states->sources = more;
        source = calloc(1, sizeof *source);
    }
    if (!source)
        return NULL;
    *source = (struct state_source){
        .states = states,
        .origin = origin,
        .is_xen = origin->layer == LAYER_HYPERVISOR,
        .incomplete = origin->complete_from != 0,
        .stamped = true, /* until a switch refutes it */
        .first = TIME_UNKNOWN,
        .last = TIME_UNKNOWN,
        .lost_until = TIME_UNKNOWN,
    };
    more[states->n_sources++] = source;
    if (map_put(&states->by_origin, (uintptr_t)origin, source) < 0)
        return NULL;
    return source;
}

/* NULL with the error set if out of memory; NULL without it if nothing of this source is used. */
static _cold_ struct state_source *get_source_slow(struct states *states,
                                                   const struct origin *origin)
{
    struct state_source *source = NULL;

    if (origin->layer == LAYER_HYPERVISOR || origin->layer == LAYER_GUEST ||
        origin->layer == LAYER_HOST) {
        source = map_get(&states->by_origin, (uintptr_t)origin);
        if (!source)
            source = add_source(states, origin);
        if (!source)
            states->error = -ENOMEM;
    }
    states->recent_origin = origin;
    states->recent = source;
    return source;
}

static inline struct state_source *get_source(struct states *states, const struct origin *origin)
{
    return likely(origin == states->recent_origin) ? states->recent
                                                   : get_source_slow(states, origin);
}

static _cold_ int look_at_class(struct states *states, const struct event_class *class)
{
    struct class_plan plan = {.made = true, .a.field = -1, .b.field = -1, .c.field = -1};

    if (class_map_grow(states->plans, states->n_plans, class) < 0)
        return -ENOMEM;
    plan.source = get_source(states, class->origin);
    if (states->error < 0)
        return states->error;
    if (plan.source && !origin_has_states(class->origin))
        plan.role = PLAN_NOTHING;
    else if (plan.source && plan.source->is_xen)
        state_xen_plan(class, &plan);
    else if (plan.source)
        plan_kernel(class, &plan);
    states->plans[class->index] = plan;
    return 0;
}

/* ---- CPUs ---- */

_cold_ struct state_cpu *state_cpu_add(struct state_source *source, int32_t cpu)
{
    unsigned n;
    struct state_cpu *more;
    uint16_t *seen;

    if (cpu < 0 || cpu >= STATE_CPUS_MAX)
        return NULL;
    n = MIN(MAX((unsigned)cpu + 1, source->n_cpus * 2), (unsigned)STATE_CPUS_MAX);
    seen = realloc(source->seen_cpus, n * sizeof *seen);
    if (seen)
        source->seen_cpus = seen;
    more = seen ? realloc(source->cpus, n * sizeof *more) : NULL;
    if (!more) {
        source->states->error = -ENOMEM;
        return NULL;
    }
    memset(more + source->n_cpus, 0, (n - source->n_cpus) * sizeof *more);
    for (unsigned i = source->n_cpus; i < n; i++)
        more[i].guest = GUEST_TIME_NONE;
    source->cpus = more;
    source->n_cpus = n;
    return &more[cpu];
}

static int32_t cpu_number(const struct state_source *source, const struct state_cpu *cpu)
{
    return (int32_t)(cpu - source->cpus);
}

_cold_ void state_cpu_first_seen(struct state_source *source, struct state_cpu *cpu, int64_t time)
{
    uint16_t number = (uint16_t)cpu_number(source, cpu);
    unsigned low = 0, high = source->n_seen;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (source->seen_cpus[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(source->seen_cpus + low + 1, source->seen_cpus + low,
            (source->n_seen - low) * sizeof *source->seen_cpus);
    source->seen_cpus[low] = number;
    source->n_seen++;
    cpu->seen = true;
    cpu->since = source->first;
    cpu->begin = time;
}

void state_cpu_end(struct state_source *source, struct state_cpu *cpu, int64_t end, bool seen)
{
    struct state_interval interval;

    if (end <= cpu->since || cpu->state == STATE_UNKNOWN ||
        !state_is_wanted(source, STATE_SUBJECT_CPU))
        return;
    if (unlikely(source->origin->pid_filter) && !state_is_recorded(source, cpu->runs)) {
        state_cpu_unknown(source, cpu, cpu->since, end);
        return;
    }
    interval = (struct state_interval){
        .of = STATE_SUBJECT_CPU,
        .state = cpu->state,
        .id = cpu_number(source, cpu),
        .begin_seen = cpu->since_seen,
        .end_seen = seen,
        .begin = cpu->since,
        .end = end,
        .cpu = cpu_number(source, cpu),
        .moved_from = CPU_UNKNOWN,
        .by = cpu->runs_id,
        .inside = -1,
        .vcpu = VCPU_UNKNOWN,
    };

    state_give(source, &interval);
}

void state_cpu_unknown(struct state_source *source, const struct state_cpu *cpu, int64_t from,
                       int64_t until)
{
    struct state_interval interval = {
        .of = STATE_SUBJECT_CPU,
        .state = STATE_UNKNOWN,
        .id = cpu_number(source, cpu),
        .begin = MAX(from, source->first),
        .end = until,
        .cpu = cpu_number(source, cpu),
        .moved_from = CPU_UNKNOWN,
        .by = PID_UNKNOWN,
        .inside = -1,
        .vcpu = VCPU_UNKNOWN,
    };

    if (until > interval.begin && state_is_wanted(source, STATE_SUBJECT_CPU))
        state_give(source, &interval);
}

void state_cpu_found(struct state_source *source, const struct state_cpu *cpu, int64_t time)
{
    if (state_has_unknown(source) || cpu->since <= source->first)
        state_cpu_unknown(source, cpu, cpu->since, time);
}

/* ---- intervals ---- */

static void hand_over(struct states *states, const struct state_interval *intervals, unsigned n)
{
    int r = states->ops->put(states->arg, intervals, n);

    if (r >= 0 && states->other_ops)
        r = states->other_ops->put(states->other_arg, intervals, n);

    if (unlikely(r < 0))
        states->error = r;
}

/* T14. */
static _cold_ void keep_early(struct state_source *source, const struct state_interval *interval)
{
    if (!source->early) {
        source->early = aligned_alloc(64, STATES_HELD * sizeof *source->early);
        if (!source->early) {
            source->states->error = -ENOMEM;
            return;
        }
    }
    if (source->n_early == STATES_HELD)
        source->n_early = 0;
    source->early[source->n_early++] = *interval;
}

_cold_ void state_first_switch(struct state_source *source)
{
    for (unsigned i = 0; i < source->n_early; i++)
        hand_over(source->states, &source->early[i], 1);
    free(source->early);
    source->early = NULL;
    source->n_early = 0;
}

void state_give(struct state_source *source, struct state_interval *interval)
{
    interval->origin = source->origin;
    if (unlikely(state_lacks_switches(source)))
        keep_early(source, interval);
    else
        hand_over(source->states, interval, 1);
}

static void hand_over_held(struct state_source *source, uint64_t n)
{
    while (n > 0) {
        uint64_t place = source->held_begin % HELD_ROOM;
        uint64_t piece = MIN(n, HELD_ROOM - place);

        source->held_begin += piece;
        n -= piece;
        hand_over(source->states, &source->held[place], (unsigned)piece);
    }
}

/* T3: makes unknown what ended after SINCE, except runs. Waits are counted in COUNT. Each interval is changed or
 * examined once. */
static void take_held(struct state_source *source, int64_t since, uint64_t *count)
{
    uint64_t i = source->held_end;

    while (i > source->held_begin) {
        struct state_interval *interval;

        if (i == source->lost_end && source->lost_begin < i) {
            i = source->lost_begin;
            continue;
        }
        interval = &source->held[(i - 1) % HELD_ROOM];
        /* Those that an event ended are in the order of time; of others, the end may be long ago. */
        if (interval->end <= since && interval->end_seen)
            break;
        if (interval->end > since && interval->state != STATE_RUNNING &&
            interval->state != STATE_UNKNOWN) {
            if (interval->state == STATE_WOKEN || interval->state == STATE_PREEMPTED)
                *count += state_is_counted(source, interval->begin);
            /* What shows it to have been in that state before may be wrong, too. */
            if (interval->of == STATE_SUBJECT_VCPU && !interval->begin_seen &&
                state_is_wanted(source, STATE_SUBJECT_DOMAIN))
                state_domain_lost(source, interval->id, interval->begin, interval->end);
            interval->state = STATE_UNKNOWN;
            interval->begin_seen = interval->end_seen = false;
        }
        i--;
    }
    source->lost_begin = i;
    source->lost_end = source->held_end;
}

static void learn_of(struct state_interval *interval, unsigned events)
{
    if (interval->state == STATE_WOKEN && interval->begin_unsure && events & STATE_EVENT_WAKE)
        interval->begin_seen = false;
    if (interval->state == STATE_WOKEN && interval->by_unsure && events & STATE_EVENT_INTERRUPT)
        interval->by = PID_UNKNOWN;
}

_cold_ void state_learn_events(struct state_source *source, unsigned events)
{
    for (uint64_t i = source->held_begin; i < source->held_end; i++) {
        struct state_interval *interval = &source->held[i % HELD_ROOM];
        bool was_seen = interval->begin_seen;

        learn_of(interval, events);
        source->counts.no_begin +=
            was_seen && !interval->begin_seen && state_is_counted(source, interval->begin);
    }
    for (uint32_t i = 1; i < source->n_threads; i++) {
        struct state_thread *thread = &source->threads[i];

        if (!thread->used)
            continue;
        learn_of(&thread->now, events);
        if (thread->waker_unsure && events & STATE_EVENT_INTERRUPT)
            thread->waker = PID_UNKNOWN;
    }
}

_cold_ void state_first_wake(struct state_source *source)
{
    for (uint64_t i = source->held_begin; i < source->held_end; i++) {
        struct state_interval *interval = &source->held[i % HELD_ROOM];

        if (interval->of != STATE_SUBJECT_THREAD || !state_is_sleep(interval->state) ||
            !interval->end_seen)
            continue;
        source->counts.missing_wakes += state_is_counted(source, interval->begin);
        interval->state = STATE_UNKNOWN;
        interval->begin_seen = interval->end_seen = false;
    }
}

/* T13: call before intervals of SOURCE are handed over. Xen has no such doubts. */
static void doubt_wakeups(struct state_source *source)
{
    if (unlikely(!source->has_waking && !source->lacks_waking) && !source->is_xen &&
        source->events & STATE_EVENT_WAKE)
        state_learn_events(source, STATE_EVENT_WAKE);
}

/* When the earliest loss of a CPU began that has not been delivered yet. */
static int64_t first_loss_begun(const struct state_source *source)
{
    int64_t first = INT64_MAX;

    for (unsigned i = 0; i < source->n_seen; i++) {
        const struct state_cpu *cpu = &source->cpus[source->seen_cpus[i]];

        if (cpu->in_loss)
            first = MIN(first, cpu->loss_begun);
    }
    return first;
}

/* Before held intervals are handed over: makes unknown what does not follow because of a loss, although the loss is
 * delivered later. */
static void take_doubtful(struct state_source *source)
{
    if (source->incomplete)
        take_held(source, TIME_UNKNOWN, &source->counts.early);
    else if (unlikely(source->n_in_loss > 0))
        take_held(source, first_loss_begun(source), &source->counts.lost);
    doubt_wakeups(source);
}

_cold_ int state_make_room(struct state_source *source)
{
    if (!source->held) {
        source->held = aligned_alloc(64, HELD_ROOM * sizeof *source->held);
        if (!source->held) {
            source->states->error = -ENOMEM;
            return -ENOMEM;
        }
        return 0;
    }
    if (unlikely(state_lacks_switches(source))) {
        source->held_begin += HANDED_OVER;
        return 0;
    }
    take_doubtful(source);
    hand_over_held(source, HANDED_OVER);
    return 0;
}

/* T8. */
static void put_cut(struct state_source *source, int32_t number)
{
    struct state_cpu *cpu = number != CPU_UNKNOWN ? state_cpu_get(source, number) : NULL;

    source->is_cut = true;
    if (!cpu)
        return;
    cpu->is_cut = true;
}

/* CPU, which has no event, lost some up to TIME, or from then on, so its state is unknown. */
static void see_lossy_cpu(struct state_source *source, struct state_cpu *cpu, int64_t time)
{
    state_cpu_first_seen(source, cpu, time);
    cpu->last = time;
    cpu->lost_until = time;
}

/* CPU lost events up to TIME. Returns since when. */
static int64_t lose_cpu(struct state_source *source, struct state_cpu *cpu, const struct item *item,
                        int64_t time)
{
    /* Without its start: since the last event of the CPU that shows what ran. */
    int64_t since = item->since != TIME_UNKNOWN && item->since <= time
                        ? MAX(item->since, cpu->proof)
                        : cpu->proof;

    state_cpu_forget(source, cpu, since, MAX(since, time), STATE_IS_LOST);
    cpu->lost_until = MAX(since, time);
    source->n_in_loss -= cpu->in_loss;
    cpu->in_loss = false;
    cpu->guest = GUEST_TIME_NONE;
    return since;
}

static void put_loss(struct state_source *source, const struct item *item)
{
    int64_t time = item->time != TIME_UNKNOWN ? item->time : source->last;
    int64_t first = INT64_MAX;

    if (time == TIME_UNKNOWN)
        return;
    if (item->cpu == CPU_UNKNOWN) {
        for (unsigned i = 0; i < source->n_seen; i++)
            first = MIN(first, lose_cpu(source, &source->cpus[source->seen_cpus[i]], item, time));
    } else {
        struct state_cpu *cpu = state_cpu_get(source, item->cpu);

        if (cpu && cpu->seen)
            first = lose_cpu(source, cpu, item, time);
        else if (cpu)
            see_lossy_cpu(source, cpu, time);
    }
    if (item->is_open)
        put_cut(source, item->cpu);
    source->loss++;
    source->lost_until = MAX(source->lost_until, time);
    /* Of a CPU that had no event yet: since the beginning, unless the loss says more. */
    take_held(source, first != INT64_MAX ? first : item->since, &source->counts.lost);
    if (source->is_xen)
        state_xen_lost(source, first != INT64_MAX ? first : source->first, time);
}

_cold_ void states_begin_loss(struct states *states, const struct item *item)
{
    struct state_source *source = get_source(states, item->origin);
    struct state_cpu *cpu;

    if (!source || item->time == TIME_UNKNOWN || item->cpu == CPU_UNKNOWN)
        return;
    cpu = state_cpu_get(source, item->cpu);
    if (!cpu || cpu->in_loss)
        return;
    if (!cpu->seen)
        see_lossy_cpu(source, cpu, item->time);
    cpu->in_loss = true;
    cpu->loss_begun = item->time;
    source->n_in_loss++;
}

/* T7: all CPUs have begun. */
static _cold_ void complete(struct state_source *source)
{
    source->incomplete = false;
    source->completed = ++source->loss;
    source->lost_until = MAX(source->lost_until, source->origin->complete_from);
    take_held(source, TIME_UNKNOWN, &source->counts.early);
    if (source->is_xen)
        state_xen_lost(source, source->first, source->origin->complete_from);
}

static inline void put_event(struct states *states, const struct item *item)
{
    const struct class_plan *plan;
    struct state_source *source;
    struct item in_order;

    if (unlikely(item->class->index >= states->n_plans ||
                 !states->plans[item->class->index].made)) {
        int r = look_at_class(states, item->class);

        if (r < 0) {
            states->error = r;
            return;
        }
    }
    plan = &states->plans[item->class->index];
    source = plan->source;
    if (plan->role == PLAN_NOTHING || item->time == TIME_UNKNOWN)
        return;
    if (unlikely(source->first == TIME_UNKNOWN))
        source->first = item->time;
    if (unlikely(item->time < source->last)) {
        /* Times run backwards: no time is counted twice. */
        in_order = *item;
        in_order.time = source->last;
        item = &in_order;
    }
    source->last = item->time;
    if (unlikely(source->incomplete) && item->time >= source->origin->complete_from)
        complete(source);
    if (plan->role < PLAN_RUNSTATE)
        state_kernel_put(source, plan, item);
    else if (!state_xen_passes(source, plan, item))
        state_xen_put(source, plan, item);
}

int states_put(struct states *states, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (likely(items[i].kind == ITEM_EVENT)) {
            put_event(states, &items[i]);
        } else {
            struct state_source *source = get_source(states, items[i].origin);

            if (source)
                put_loss(source, &items[i]);
        }
        if (unlikely(items[i].before_loss))
            states_begin_loss(states, &items[i]);
        if (unlikely(states->error < 0))
            return states->error;
    }
    return 0;
}

/* T10: until when all CPUs of SOURCE are recorded. */
static int64_t recorded_until(const struct state_source *source)
{
    int64_t until = source->last;

    for (unsigned i = 0; i < source->n_seen && !origin_is_recorded_to_end(source->origin); i++)
        until = MIN(until, source->cpus[source->seen_cpus[i]].last);
    return until;
}

static void finish_thread(struct state_source *source, struct state_thread *thread, int64_t until)
{
    const struct state_cpu *cpu =
        thread->now.state == STATE_RUNNING ? state_cpu_get(source, thread->now.cpu) : NULL;

    if (cpu && !origin_is_recorded_to_end(source->origin))
        until = cpu->last;
    state_thread_check(source, thread, source->last);
    if (thread->now.state != STATE_UNKNOWN)
        state_thread_set(source, thread, STATE_UNKNOWN, MAX(until, thread->now.begin), false,
                         STATE_IS_OPEN);
    state_thread_set(source, thread, STATE_UNKNOWN, source->last, false, STATE_IS_OPEN);
}

/* As states_cpu_known_until(). */
static int64_t cpu_known_until(const struct state_source *source, const struct state_cpu *cpu)
{
    if (cpu->known && cpu->state != STATE_UNKNOWN && source->origin->pid_filter &&
        !state_is_recorded(source, cpu->runs))
        return cpu->since; /* T6 */
    if (cpu->known && cpu->state != STATE_UNKNOWN)
        return origin_is_recorded_to_end(source->origin) ? source->last
                                                         : MAX(cpu->last, cpu->since);
    return cpu->is_cut || (cpu->seen && state_has_unknown(source)) ? MAX(cpu->since, source->first)
                                                                   : TIME_UNKNOWN;
}

static void finish_source(struct state_source *source)
{
    int64_t until = recorded_until(source);

    if (source->incomplete)
        complete(source);
    doubt_wakeups(source);
    if (until < source->last)
        take_held(source, until, &source->counts.open);
    if (source->is_xen && until < source->last)
        state_domains_lost(source, until, source->last);
    for (unsigned i = 0; i < source->n_cpus; i++) {
        struct state_cpu *cpu = &source->cpus[i];
        int64_t end = cpu_known_until(source, cpu);

        if (cpu->known)
            state_cpu_end(source, cpu, end, false);
        if (end != TIME_UNKNOWN)
            state_cpu_unknown(source, cpu, end, source->last);
        cpu->known = false;
    }
    for (uint32_t i = 1; i < source->n_threads; i++) {
        struct state_thread *thread = &source->threads[i];

        if (thread->used)
            finish_thread(source, thread, until);
    }
    if (source->is_xen)
        state_domains_finish(source);
    if (!state_lacks_switches(source))
        hand_over_held(source, source->held_end - source->held_begin);
}

void states_init(struct states *states, const struct states_ops *ops, void *arg)
{
    *states = (struct states){.ops = ops, .arg = arg, .wanted = STATE_SUBJECTS_ALL};
}

void states_share(struct states *states, const struct states_ops *ops, void *arg)
{
    states->other_ops = ops;
    states->other_arg = arg;
}

int states_release(struct states *states)
{
    for (unsigned i = 0; i < states->n_sources; i++) {
        struct state_source *source = states->sources[i];

        if (state_lacks_switches(source))
            continue;
        take_doubtful(source);
        hand_over_held(source, source->held_end - source->held_begin);
    }
    return states->error;
}

int states_finish(struct states *states)
{
    for (unsigned i = 0; i < states->n_sources; i++)
        if (states->sources[i]->last != TIME_UNKNOWN)
            finish_source(states->sources[i]);
    return states->error;
}

void states_done(struct states *states)
{
    for (unsigned i = 0; i < states->n_sources; i++) {
        struct state_source *source = states->sources[i];

        free(source->cpus);
        free(source->seen_cpus);
        free(source->threads);
        free(source->buckets);
        state_domains_done(source);
        free(source->held);
        free(source->early);
        map_done(&source->names);
        arena_done(&source->arena);
        free(source);
    }
    free(states->sources);
    free(states->plans);
    map_done(&states->by_origin);
    *states = (struct states){0};
}

const struct state_counts *states_counts(const struct states *states, unsigned i,
                                         const struct origin **ret_origin)
{
    *ret_origin = states->sources[i]->origin;
    return &states->sources[i]->counts;
}

uint64_t states_cpu_contradictions(const struct states *states, unsigned i, unsigned cpu)
{
    return cpu < states->sources[i]->n_cpus ? states->sources[i]->cpus[cpu].contradictions : 0;
}

unsigned states_cpus(const struct states *states, unsigned i)
{
    return states->sources[i]->n_cpus;
}

unsigned states_cpus_seen(const struct states *states, unsigned i)
{
    return states->sources[i]->n_seen;
}

int64_t states_cpu_known_until(const struct states *states, unsigned i, unsigned cpu)
{
    const struct state_source *source = states->sources[i];

    return cpu < source->n_cpus && source->last != TIME_UNKNOWN
               ? cpu_known_until(source, &source->cpus[cpu])
               : TIME_UNKNOWN;
}

unsigned states_events(const struct states *states, unsigned i)
{
    return states->sources[i]->events;
}

bool states_has_switches(const struct states *states, const struct origin *origin)
{
    for (unsigned i = 0; i < states->n_sources; i++)
        if ((!origin || states->sources[i]->origin == origin) &&
            states_events(states, i) & STATE_EVENT_SWITCH)
            return true;
    return false;
}

int64_t states_begin(const struct states *states, const struct origin *origin)
{
    const struct state_source *source = map_get(&states->by_origin, (uintptr_t)origin);

    return source ? source->first : TIME_UNKNOWN;
}

int64_t states_end(const struct states *states, const struct origin *origin)
{
    const struct state_source *source = map_get(&states->by_origin, (uintptr_t)origin);

    return source ? source->last : TIME_UNKNOWN;
}

int64_t states_duration(const struct states *states, const struct origin *origin)
{
    const struct state_source *source = map_get(&states->by_origin, (uintptr_t)origin);

    if (!source || source->last == TIME_UNKNOWN)
        return 0;
    return states->select ? selection_time_within(states->select, source->first, source->last)
                          : source->last - source->first;
}
