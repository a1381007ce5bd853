/* SPDX-License-Identifier: MIT */

/* The meaning of Xen's changes of runstates for vCPUs, CPUs and domains. */

#include <string.h>

#include "analysis/states/state_source.h"
#include "event/xen_vcpu.h"

/* A CPU between two vCPUs. */
#define NOTHING_RUNS (-1)

static bool parse_state(const char *name, size_t len, enum state *ret_state)
{
    static const struct {
        const char *name;
        enum state state;
    } states[] = {
        {"running", STATE_RUNNING},
        {"runnable", STATE_RUNNABLE},
        {"blocked", STATE_SLEEPING},
        {"offline", STATE_OFFLINE},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
        if (strlen(states[i].name) == len && memcmp(states[i].name, name, len) == 0) {
            *ret_state = states[i].state;
            return true;
        }
    }
    return false;
}

bool states_parse_change(const struct event_class *class, enum state *ret_from, enum state *ret_to)
{
    const char *to = strstr(class->name, "_to_");

    return to && parse_state(class->name, (size_t)(to - class->name), ret_from) &&
           parse_state(to + 4, strlen(to + 4), ret_to);
}

void state_xen_plan(const struct event_class *class, struct class_plan *plan)
{
    enum state from, to;

    plan->role = PLAN_XEN_OTHER;
    if (strcmp(class->name, "vmentry") == 0) {
        plan->role = PLAN_XEN_GUEST_BEGINS;
    } else if (strcmp(class->name, "vmexit") == 0) {
        plan->role = PLAN_XEN_GUEST_ENDS;
    } else if (strcmp(class->name, "domain_destroy") == 0 || strcmp(class->name, "dom_rem") == 0) {
        plan->a = state_number_field(class, "dom");
        if (plan->a.field >= 0)
            plan->role = PLAN_XEN_DESTROY;
    } else if (states_parse_change(class, &from, &to)) {
        plan->from = (uint8_t)from;
        plan->to = (uint8_t)to;
        plan->a = state_number_field(class, "dom");
        plan->b = state_number_field(class, "vcpu");
        if (plan->a.field >= 0 && plan->b.field >= 0)
            plan->role = PLAN_RUNSTATE;
    }
}

/* ---- vCPUs ---- */

static bool is_idle(int32_t id)
{
    return (uint32_t)id >> 16 == XEN_IDLE_DOMAIN;
}

/* Since when no events of CPU are missing, up to its last event (T7). */
static int64_t recorded_since(const struct state_source *source, const struct state_cpu *cpu)
{
    int64_t from = source->origin->complete_from;

    return MAX(MAX(cpu->since, cpu->lost_until), from == 0 ? cpu->since : MIN(cpu->begin, from));
}

/* CPU, whose state was unknown, is seen to run ID. It has done so since it is recorded, because there was no change. */
static void find_running(struct state_source *source, struct state_cpu *cpu, int32_t id,
                         int64_t time)
{
    int64_t since = MIN(recorded_since(source, cpu), time);

    state_cpu_found(source, cpu, since);
    cpu->known = true;
    cpu->runs = cpu->runs_id = id;
    cpu->state = cpu->base = is_idle(id) ? STATE_IDLE : STATE_RUNNING;
    cpu->since = since;
    cpu->since_seen = false;
    cpu->proof = time;
}

/* Between two vCPUs, from the first one's change to the next one's, the CPU runs neither. This time is not unknown
 * (T9). */
static void put_cpu(struct state_source *source, const struct class_plan *plan, int32_t id,
                    struct state_cpu *cpu, int64_t time)
{
    if (plan->from == STATE_RUNNING) {
        if (cpu->known && cpu->runs != id)
            state_cpu_contradicted(source, cpu, time);
        if (!cpu->known)
            find_running(source, cpu, id, time);
        cpu->proof = time;
        if (plan->to == STATE_RUNNING)
            return;
        state_cpu_end(source, cpu, time, true);
        cpu->runs = NOTHING_RUNS;
        cpu->state = STATE_UNKNOWN;
        cpu->since = time;
    } else if (plan->to == STATE_RUNNING) {
        if (cpu->known && cpu->runs != NOTHING_RUNS)
            state_cpu_contradicted(source, cpu, time);
        if (!cpu->known)
            state_cpu_found(source, cpu, time);
        cpu->known = true;
        cpu->runs = cpu->runs_id = id;
        cpu->state = cpu->base = is_idle(id) ? STATE_IDLE : STATE_RUNNING;
        cpu->since = cpu->proof = time;
        cpu->since_seen = true;
    }
}

/* True if a vCPU in STATE can make a change that starts in FROM. */
static bool follows(enum state state, enum state from)
{
    return state == from || (from == STATE_RUNNABLE && state_waits(state));
}

/* A vCPU that ran did so up to the last change on its CPU. What stopped it may have been lost there, and may be later
 * than other CPUs' events. */
static _cold_ void contradict_vcpu(struct state_source *source, struct state_thread *thread,
                                   int64_t time)
{
    struct state_cpu *cpu =
        thread->now.state == STATE_RUNNING ? state_cpu_get(source, thread->now.cpu) : NULL;

    if (cpu && cpu->known && cpu->runs == thread->now.id)
        state_cpu_forget(source, cpu, cpu->proof, time, STATE_IS_CONTRADICTED);
    state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_IS_CONTRADICTED);
}

/* THREAD, whose state was unknown, is in STATE, and has been since SINCE. */
static void find_vcpu(struct state_source *source, struct state_thread *thread, enum state state,
                      int64_t since, int32_t cpu)
{
    struct state_cpu *runs_on = state == STATE_RUNNING ? state_cpu_get(source, cpu) : NULL;

    state_thread_set(source, thread, state, MAX(since, thread->now.begin), false, STATE_ENDS);
    if (!runs_on)
        return;
    thread->now.cpu = cpu;
    if (!runs_on->guest.crossed)
        return;
    runs_on->guest.entered |= thread->guest.entered;
    runs_on->guest.left |= thread->guest.left;
    thread->guest = runs_on->guest;
}

/* NULL if out of memory. */
static struct state_thread *get_vcpu(struct state_source *source, int32_t id)
{
    struct state_thread *thread = state_thread_find(source, id);

    return thread ? thread : state_thread_add(source, id, source->first);
}

/* Since when nothing is missing that could change a vCPU that does not run; TIME_UNKNOWN if something is. */
static int64_t all_recorded_since(const struct state_source *source)
{
    return source->incomplete || source->is_cut ? TIME_UNKNOWN
                                                : MAX(source->first, source->lost_until);
}

/* RAN_SINCE: when it began to run, if it ran and was not known to. */
static void put_vcpu(struct state_source *source, const struct class_plan *plan, int32_t id,
                     const struct item *item, int64_t ran_since)
{
    struct state_thread *thread = get_vcpu(source, id);
    enum state to = (enum state)plan->to;

    if (!thread)
        return;
    if (unlikely(thread->exiting && thread->now.state == STATE_OFFLINE)) {
        /* Nothing of it may follow but the rest of this; or another domain has got the number. */
        if (to == STATE_OFFLINE)
            return;
        thread->exiting = false;
    } else if (unlikely(thread->now.state == STATE_UNKNOWN)) {
        int64_t since = plan->from == STATE_RUNNING ? ran_since : all_recorded_since(source);

        if (since != TIME_UNKNOWN)
            find_vcpu(source, thread, (enum state)plan->from, MIN(since, item->time), item->cpu);
    } else if (!follows((enum state)thread->now.state, plan->from) ||
               (plan->from == STATE_RUNNING && thread->now.cpu != CPU_UNKNOWN &&
                thread->now.cpu != item->cpu)) {
        struct state_cpu *cpu = state_cpu_get(source, item->cpu);

        if (cpu)
            state_cpu_count_contradicted(source, cpu, item->time);
        else
            source->counts.contradictions += state_is_counted(source, item->time);
        contradict_vcpu(source, thread, item->time);
    }
    if (plan->from == plan->to && thread->now.state != STATE_UNKNOWN)
        return;
    if (to == STATE_RUNNABLE && plan->from == STATE_RUNNING)
        to = STATE_PREEMPTED;
    else if (to == STATE_RUNNABLE && plan->from != STATE_RUNNABLE)
        to = STATE_WOKEN;
    state_thread_set(source, thread, to, item->time, plan->from != plan->to, STATE_ENDS);
    if (to == STATE_RUNNING)
        thread->now.cpu = item->cpu;
    thread->waker = item->vcpu;
}

/* ITEM tells which vCPU runs on CPU, whose state was unknown. A vCPU that never changes is only seen by such events. */
static _cold_ void put_sign(struct state_source *source, struct state_cpu *cpu,
                            const struct item *item)
{
    int64_t since = recorded_since(source, cpu);
    struct state_thread *thread;

    if (!is_idle(item->vcpu)) {
        thread = get_vcpu(source, item->vcpu);
        if (!thread || thread->now.state != STATE_UNKNOWN)
            return;
        find_vcpu(source, thread, STATE_RUNNING, since, item->cpu);
    }
    find_running(source, cpu, item->vcpu, item->time);
}

void state_xen_lost(struct state_source *source, int64_t since, int64_t time)
{
    bool has_domains = state_is_wanted(source, STATE_SUBJECT_DOMAIN);

    if (has_domains)
        state_domains_lost(source, since, time);
    for (uint32_t i = 1; i < source->n_threads; i++) {
        struct state_thread *thread = &source->threads[i];

        if (!thread->used || thread->now.state == STATE_RUNNING)
            continue;
        if (has_domains)
            state_domain_changed(source, thread, STATE_UNKNOWN,
                                 thread->now.begin_seen ? MAX(since, thread->now.begin)
                                                        : thread->now.begin);
        state_thread_lost(source, thread);
    }
}

/* The vCPUs of domain ID do not run any more. A vCPU that is on a CPU, or waits for one, has an event when it stops. */
static _cold_ void put_destroyed(struct state_source *source, int32_t id, int64_t time)
{
    for (uint32_t i = 1; i < source->n_threads; i++) {
        struct state_thread *thread = &source->threads[i];

        if (!thread->used || (int32_t)((uint32_t)thread->now.id >> 16) != id)
            continue;
        thread->exiting = true;
        if (thread->now.state == STATE_SLEEPING || thread->now.state == STATE_UNKNOWN)
            state_thread_set(source, thread, STATE_OFFLINE, time, true, STATE_ENDS);
    }
}

void state_xen_put(struct state_source *source, const struct class_plan *plan,
                   const struct item *item)
{
    struct state_cpu *cpu = state_cpu_get(source, item->cpu);
    struct state_thread *thread;
    bool enters;
    int32_t id;

    if (likely(cpu))
        state_cpu_seen(source, cpu, item->time);
    if (plan->role == PLAN_RUNSTATE) {
        int64_t since = cpu && !cpu->known ? recorded_since(source, cpu) : item->time;

        id = (int32_t)((uint32_t)quick_read(&plan->a, item) << 16 |
                       ((uint32_t)quick_read(&plan->b, item) & 0xffff));
        source->counts.switches += state_is_counted(source, item->time);
        source->events |= STATE_EVENT_SWITCH | STATE_EVENT_WAKE;
        if (likely(cpu))
            cpu->can_contradict = true;
        if (likely(cpu))
            put_cpu(source, plan, id, cpu, item->time);
        if (!is_idle(id))
            put_vcpu(source, plan, id, item, since);
        /* Others are woken on a CPU while it runs what it is not known to run. */
        if (likely(cpu) && (plan->from == STATE_RUNNING || plan->to == STATE_RUNNING))
            cpu->guest = GUEST_TIME_NONE;
        return;
    }
    if (unlikely(cpu && !cpu->known) && item->vcpu != VCPU_UNKNOWN &&
        source->events & STATE_EVENT_SWITCH)
        put_sign(source, cpu, item);
    if (plan->role == PLAN_XEN_OTHER)
        return;
    if (unlikely(plan->role == PLAN_XEN_DESTROY)) {
        put_destroyed(source, (int32_t)quick_read(&plan->a, item), item->time);
        return;
    }
    source->events |= STATE_EVENT_GUEST;
    thread = state_thread_find(source, item->vcpu);
    enters = plan->role == PLAN_XEN_GUEST_BEGINS;
    if (thread && thread->now.state == STATE_RUNNING)
        state_guest_cross(source, &thread->guest, enters, item->time, thread->now.begin,
                          thread->now.begin_seen);
    else if (cpu && !cpu->known)
        state_guest_cross(source, &cpu->guest, enters, item->time, recorded_since(source, cpu),
                          false);
}
