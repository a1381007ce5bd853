/* SPDX-License-Identifier: MIT */

/* The meaning of a Linux kernel's events for its CPUs and threads. */

#include <errno.h>
#include <string.h>

#include "analysis/states/state_source.h"
#include "event/kernel_event.h"

/* The low byte of prev_state in all kernels. Higher bits say that a thread was preempted, or, in old kernels, more
 * about how it sleeps. */
#define PREV_INTERRUPTIBLE 0x01
#define PREV_UNINTERRUPTIBLE 0x02
#define PREV_OTHERS 0xcc /* stopped, traced, parked, idle workers */

#define IDLE_THREAD 0

/* A part of a second. What the previous thread still does in the switch takes less. */
#define SWITCHES_LAST_AT_MOST 10000u

static int32_t cpu_number(const struct state_source *source, const struct state_cpu *cpu)
{
    return (int32_t)(cpu - source->cpus);
}

static _cold_ void learn_name(struct state_source *source, struct state_thread *thread,
                              const char *raw, uint32_t size)
{
    size_t len = strnlen(raw, size);
    const char *name = map_get_str(&source->names, raw, len);

    if (!name && source->n_names < STATE_NAMES_MAX) {
        name = arena_strndup(&source->arena, raw, len);
        if (!name || map_put_str(&source->names, name, len, (void *)(uintptr_t)name) < 0) {
            source->states->error = -ENOMEM;
            return;
        }
        source->n_names++;
    }
    thread->now.name = name ? name : "";
    memset(thread->raw_name, 0, sizeof thread->raw_name);
    memcpy(thread->raw_name, raw, size);
}

/* For formats with strings of any length. */
static _cold_ void set_name_of_string(struct state_source *source, struct state_thread *thread,
                                      const struct item *item, int field)
{
    struct value value = item_value(item, (unsigned)field);
    char raw[STATE_NAME_SIZE] = {0};

    if (!value.present)
        return;
    memcpy(raw, value.s, MIN(value.len, (uint32_t)sizeof raw));
    if (memcmp(thread->raw_name, raw, sizeof raw) != 0)
        learn_name(source, thread, raw, sizeof raw);
}

static inline void set_name(struct state_source *source, struct state_thread *thread,
                            const struct item *item, uint32_t offset, uint32_t size, int string)
{
    const char *raw = (const char *)item->payload + offset;

    if (likely(size == STATE_NAME_SIZE && item->size >= offset + size)) {
        /* Without a call: each switch has two. */
        if (unlikely(memcmp(thread->raw_name, raw, STATE_NAME_SIZE) != 0))
            learn_name(source, thread, raw, size);
    } else if (size == 0 && string >= 0) {
        set_name_of_string(source, thread, item, string);
    } else if (size > 0 && item->size >= offset + size &&
               memcmp(thread->raw_name, raw, size) != 0) {
        learn_name(source, thread, raw, size);
    }
}

/* The thread that CPU is known to run, if the thread is known to run there. */
static struct state_thread *find_current(const struct state_source *source,
                                         const struct state_cpu *cpu)
{
    struct state_thread *thread = state_thread_find(source, cpu->runs);

    return thread && thread->now.state == STATE_RUNNING &&
                   thread->now.cpu == cpu_number(source, cpu)
               ? thread
               : NULL;
}

void state_cpu_forget(struct state_source *source, struct state_cpu *cpu, int64_t known_until,
                      int64_t time, enum state_why why)
{
    struct state_thread *thread = find_current(source, cpu);

    if (!cpu->known)
        return;
    state_cpu_end(source, cpu, known_until, false);
    state_cpu_unknown(source, cpu, known_until, time);
    if (thread)
        state_thread_set(source, thread, STATE_UNKNOWN, known_until, false, why);
    cpu->known = false;
    cpu->since = time;
}

void state_cpu_count_contradicted(struct state_source *source, struct state_cpu *cpu, int64_t time)
{
    if (!cpu->can_contradict || !state_is_counted(source, time))
        return;
    cpu->can_contradict = false;
    source->counts.contradictions++;
    cpu->contradictions++;
}

void state_cpu_contradicted(struct state_source *source, struct state_cpu *cpu, int64_t time)
{
    if (unlikely(source->origin->pid_filter) && !state_is_recorded(source, cpu->runs)) {
        state_cpu_forget(source, cpu, time, time, STATE_IS_LOST); /* T6 */
        return;
    }
    state_cpu_count_contradicted(source, cpu, time);
    state_cpu_forget(source, cpu, cpu->proof, time, STATE_IS_CONTRADICTED);
}

/* From now on the CPU runs ID. */
static void run(struct state_source *source, struct state_cpu *cpu, int32_t id, int64_t time,
                bool seen)
{
    if (unlikely(!cpu->known))
        state_cpu_found(source, cpu, time);
    cpu->known = true;
    cpu->runs = cpu->runs_id = id;
    cpu->state = cpu->base = id == IDLE_THREAD ? STATE_IDLE : STATE_RUNNING;
    cpu->since = cpu->proof = time;
    cpu->since_seen = seen;
    cpu->interrupts = 0;
    cpu->interrupts_known = seen;
    cpu->switching = false;
}

/* THREAD begins to run. If it was running elsewhere, that run has ended unseen. */
static void run_thread(struct state_source *source, struct state_thread *thread, int32_t cpu,
                       int64_t time, bool seen, enum state_why why)
{
    if (unlikely(thread->now.state == STATE_RUNNING)) {
        struct state_cpu *other = state_cpu_get(source, thread->now.cpu);

        if (other && other->known && other->runs == thread->now.id)
            state_cpu_contradicted(source, other, time);
        else
            state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_IS_CONTRADICTED);
    }
    state_thread_set(source, thread, STATE_RUNNING, time, seen, why);
    thread->now.cpu = cpu;
    thread->woken_early = false;
}

/* Thread ID is seen to run on CPU, whose state was unknown. */
static void found_running(struct state_source *source, struct state_cpu *cpu, int32_t id,
                          int64_t time, enum state_why why)
{
    if (id != IDLE_THREAD) {
        struct state_thread *thread = state_thread_get(source, id, time);

        if (!thread)
            return;
        state_thread_check(source, thread, time);
        run_thread(source, thread, cpu_number(source, cpu), time, false, why);
    }
    run(source, cpu, id, time, false);
}

/* True if ITEM may belong to the switch of CPU: it is of the thread that it left, which the kernel still takes for the
 * current thread for a moment, with interrupts off. */
static bool is_in_switch(const struct state_source *source, const struct state_cpu *cpu,
                         const struct class_plan *plan, const struct item *item)
{
    const struct state_thread *thread;
    uint64_t hz = source->origin->clock.hz;

    if (!cpu->switching || item->pid != cpu->left || plan->role != PLAN_STAMP)
        return false;
    if (hz != 0 && (uint64_t)ticks_between(cpu->since, item->time) >
                       MAX(hz / SWITCHES_LAST_AT_MOST, UINT64_C(1)))
        return false;
    thread = state_thread_find(source, item->pid);
    return !thread || thread->now.state != STATE_WOKEN;
}

static _cold_ void stamp_slow(struct state_source *source, struct state_cpu *cpu,
                              const struct class_plan *plan, const struct item *item)
{
    enum state_why why = STATE_IS_LOST;

    if (cpu->known) {
        if (is_in_switch(source, cpu, plan, item))
            return;
        if (cpu->switched) {
            state_cpu_contradicted(source, cpu, item->time);
            why = STATE_IS_CONTRADICTED;
        } else {
            /* Switches may not be traced. */
            state_cpu_forget(source, cpu, cpu->proof, cpu->proof, STATE_IS_LOST);
        }
    }
    found_running(source, cpu, item->pid, item->time, why);
}

/* ITEM is of the thread that CPU runs. */
static inline void stamp(struct state_source *source, struct state_cpu *cpu,
                         const struct class_plan *plan, const struct item *item)
{
    if (likely(cpu->known && cpu->runs == item->pid)) {
        cpu->proof = MAX(cpu->proof, item->time);
        cpu->switching = false;
        return;
    }
    stamp_slow(source, cpu, plan, item);
}

/* T6: ITEM shows that events of thread ID are in the trace of a filtered source. */
static _cold_ void note_recorded(struct state_source *source, int32_t id, int64_t time)
{
    struct state_thread *thread = id > 0 ? state_thread_get(source, id, time) : NULL;

    if (thread)
        thread->recorded = true;
}

/* True if an event of a class with PLAN is in the trace because its own thread is recorded, whatever it is about. */
static bool is_of_recorded_thread(const struct class_plan *plan)
{
    return plan->role != PLAN_SWITCH && plan->role != PLAN_WAKING && plan->role != PLAN_WAKEUP &&
           plan->role != PLAN_WAKEUP_NEW && plan->role != PLAN_MIGRATE;
}

/* ---- switches ---- */

static enum state state_of_prev(int64_t prev_state)
{
    if (prev_state & PREV_INTERRUPTIBLE)
        return STATE_SLEEPING;
    if (prev_state & PREV_UNINTERRUPTIBLE)
        return STATE_UNINTERRUPTIBLE;
    return prev_state & PREV_OTHERS ? STATE_SLEEPING : STATE_PREEMPTED;
}

static void leave(struct state_source *source, const struct class_plan *plan,
                  const struct item *item, int32_t id, int64_t time)
{
    struct state_thread *thread = state_thread_find(source, id);
    int64_t prev_state;

    if (!thread)
        return;
    if (unlikely(plan->c.field < 0)) {
        state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_ENDS);
        return;
    }
    prev_state = quick_read(&plan->c, item);
    set_name(source, thread, item, plan->a_name, plan->room[0], plan->string[0]);
    if (source->origin->layer == LAYER_HOST && item->vcpu != VCPU_UNKNOWN)
        thread->now.vcpu = item->vcpu;
    if (unlikely((prev_state & KERNEL_PREV_DEAD) ||
                 (thread->exiting && state_of_prev(prev_state) != STATE_PREEMPTED))) {
        state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_ENDS);
        state_thread_forget(source, thread);
        return;
    }
    state_thread_set(source, thread, state_of_prev(prev_state), time, true, STATE_ENDS);
}

static void enter(struct state_source *source, const struct class_plan *plan,
                  const struct item *item, int32_t id, int32_t cpu, int64_t time)
{
    struct state_thread *thread = state_thread_get(source, id, time);
    enum state_why why = STATE_ENDS;

    if (!thread)
        return;
    state_thread_check(source, thread, time);
    if (source->events & STATE_EVENT_WAKE && state_is_sleep(thread->now.state)) {
        if (thread->woken_early) {
            /* It was woken while it went to sleep. */
            thread->now.state = STATE_WOKEN;
        } else {
            source->counts.missing_wakes +=
                (!source->origin->pid_filter || thread->recorded) && state_is_counted(source, time);
            why = STATE_IS_CONTRADICTED;
        }
    }
    if (state_waits((enum state)thread->now.state) && thread->now.cpu != cpu &&
        thread->now.cpu >= 0) {
        source->counts.unseen_moves += state_is_counted(source, thread->now.begin);
        thread->now.moved_from = STATE_MOVED_UNSEEN;
        thread->now.moved_at = time;
    }
    /* Its name is that of the wait that ends, too. */
    set_name(source, thread, item, plan->b_name, plan->room[1], plan->string[1]);
    run_thread(source, thread, cpu, time, true, why);
}

/* PREV, which leaves the CPU, makes the event. If the event has another thread, its numbers are of a container, or of
 * processes. */
static _cold_ void check_stamp(struct state_source *source, const struct item *item, int32_t prev)
{
    if (item->pid >= 0 && prev >= 0 && !source->origin->kernel)
        source->stamped = false;
}

static void put_switch(struct state_source *source, const struct class_plan *plan,
                       const struct item *item, struct state_cpu *cpu)
{
    int32_t prev = (int32_t)quick_read(&plan->a, item);
    int32_t next = (int32_t)quick_read(&plan->b, item);
    int32_t number = cpu_number(source, cpu);
    int64_t time = cpu->known ? MAX(item->time, cpu->proof) : item->time;

    if (unlikely(item->pid != prev))
        check_stamp(source, item, prev);
    source->counts.switches += state_is_counted(source, time);
    if (unlikely(state_lacks_switches(source))) {
        source->events |= STATE_EVENT_SWITCH;
        state_first_switch(source);
    }
    cpu->switched = true;
    if (unlikely(source->origin->pid_filter) && (prev == IDLE_THREAD || next == IDLE_THREAD))
        note_recorded(source, prev == IDLE_THREAD ? next : prev, time);
    if (unlikely(!cpu->known)) {
        found_running(source, cpu, prev, time, STATE_IS_LOST);
    } else if (unlikely(cpu->runs != prev)) {
        state_cpu_contradicted(source, cpu, time);
        found_running(source, cpu, prev, time, STATE_IS_CONTRADICTED);
    }
    cpu->can_contradict = true;
    if (prev != IDLE_THREAD)
        leave(source, plan, item, prev, time);
    state_cpu_end(source, cpu, time, true);
    if (next != IDLE_THREAD)
        enter(source, plan, item, next, number, time);
    run(source, cpu, next, time, true);
    cpu->left = prev;
    cpu->switching = true;
}

/* ---- wake-ups ---- */

/* ITEM wakes THREAD. */
static void note_waker(struct state_source *source, struct state_thread *thread,
                       const struct item *item)
{
    const struct state_cpu *cpu = state_cpu_get(source, item->cpu);

    if (cpu && cpu->known && cpu->interrupts > 0) {
        thread->waker = STATE_BY_INTERRUPT;
        thread->waker_unsure = false;
        return;
    }
    thread->waker_unsure = !cpu || !cpu->known || !cpu->interrupts_known;
    thread->waker =
        thread->waker_unsure && source->events & STATE_EVENT_INTERRUPT ? PID_UNKNOWN : item->pid;
}

static void put_wake(struct state_source *source, const struct class_plan *plan,
                     const struct item *item)
{
    int32_t id = (int32_t)quick_read(&plan->a, item);
    int32_t target = plan->b.field >= 0 ? (int32_t)quick_read(&plan->b, item) : CPU_UNKNOWN;
    /* Where there are both, sched_waking comes before sched_wakeup. */
    bool is_second = plan->role == PLAN_WAKEUP && source->has_waking;
    enum state_why why = STATE_ENDS;
    struct state_thread *thread;

    if (unlikely(!(source->events & STATE_EVENT_WAKE)))
        state_first_wake(source);
    source->events |= STATE_EVENT_WAKE;
    if (unlikely(plan->role == PLAN_WAKING && !source->has_waking)) {
        source->has_waking = true;
        state_learn_events(source, STATE_EVENT_WAKE);
    }
    if (id == IDLE_THREAD)
        return;
    if (is_second && source->is_cut)
        return; /* counted (T8) */
    thread = state_thread_get(source, id, item->time);
    if (!thread)
        return;
    state_thread_check(source, thread, item->time);
    if (unlikely(!thread->raw_name[0]))
        set_name(source, thread, item, plan->a_name, plan->room[0], plan->string[0]);
    switch (thread->now.state) {
    case STATE_RUNNING:
        source->counts.early_wakes += !is_second;
        if (!is_second) {
            thread->woken_early = true;
            note_waker(source, thread, item);
        }
        return;
    case STATE_RUNNABLE:
    case STATE_WOKEN:
    case STATE_PREEMPTED:
        if (is_second) {
            /* That of sched_waking is where it slept. */
            if (thread->now.state == STATE_WOKEN && thread->now.moved_from == CPU_UNKNOWN &&
                target >= 0)
                thread->now.cpu = target;
            return;
        }
        /* It may have been preempted on its way to sleep: then it is woken once. */
        if (thread->now.state != STATE_WOKEN && !thread->woken_early) {
            source->counts.early_wakes++;
            thread->woken_early = true;
            return;
        }
        /* A thread is woken only if it does not want to run: it ran meanwhile, and slept (T2). */
        why = STATE_IS_CONTRADICTED;
        break;
    default: break;
    }
    if (unlikely(plan->role == PLAN_WAKEUP && !source->has_waking && !source->lacks_waking))
        source->lacks_waking = state_is_sleep(thread->now.state) && source->n_in_loss == 0 &&
                               !source->incomplete && !source->is_cut;
    source->counts.wakes++;
    state_thread_set(source, thread, STATE_WOKEN, item->time,
                     !(is_second && thread->now.state == STATE_UNKNOWN), why);
    thread->woken_early = false;
    thread->now.begin_unsure = plan->role == PLAN_WAKEUP;
    if (target >= 0)
        thread->now.cpu = target;
    note_waker(source, thread, item);
}

static void put_new(struct state_source *source, const struct class_plan *plan,
                    const struct item *item)
{
    int32_t id = (int32_t)quick_read(&plan->a, item);
    struct state_thread *thread = state_thread_find(source, id);

    source->events |= STATE_EVENT_WAKE_NEW;
    if (id == IDLE_THREAD)
        return;
    if (thread) {
        /* Another one of that number, whose end is not in the trace. */
        struct state_cpu *cpu =
            thread->now.state == STATE_RUNNING ? state_cpu_get(source, thread->now.cpu) : NULL;

        if (cpu && cpu->known && cpu->runs == id)
            state_cpu_contradicted(source, cpu, item->time);
        state_thread_check(source, thread, item->time);
        state_thread_set(source, thread, STATE_UNKNOWN, item->time, false, STATE_IS_GONE);
        state_thread_forget(source, thread);
    }
    thread = state_thread_get(source, id, item->time);
    if (!thread)
        return;
    set_name(source, thread, item, plan->a_name, plan->room[0], plan->string[0]);
    state_thread_set(source, thread, STATE_WOKEN, item->time, true, STATE_ENDS);
    if (plan->b.field >= 0)
        thread->now.cpu = (int32_t)quick_read(&plan->b, item);
    note_waker(source, thread, item);
}

static void put_migrate(struct state_source *source, const struct class_plan *plan,
                        const struct item *item)
{
    struct state_thread *thread = state_thread_find(source, (int32_t)quick_read(&plan->a, item));
    int32_t to = plan->b.field >= 0 ? (int32_t)quick_read(&plan->b, item) : CPU_UNKNOWN;

    source->events |= STATE_EVENT_MIGRATE;
    if (!thread)
        return;
    if (thread->now.state == STATE_RUNNING) {
        struct state_cpu *cpu = state_cpu_get(source, thread->now.cpu);

        /* What runs is not moved: it left its CPU before (T2). */
        if (cpu && cpu->known && cpu->switched && cpu->runs == thread->now.id)
            state_cpu_contradicted(source, cpu, item->time);
        return;
    }
    if (thread->now.cpu == to)
        return;
    if (state_waits((enum state)thread->now.state)) {
        thread->now.moved_from =
            thread->now.moved_from == CPU_UNKNOWN ? thread->now.cpu : STATE_MOVED_OFTEN;
        thread->now.moved_at = item->time;
    }
    thread->now.cpu = to;
}

/* ---- others ---- */

/* A thread runs while it ends, even if events do not tell their thread. */
static _cold_ void stamp_exit(struct state_source *source, const struct class_plan *plan,
                              const struct item *item, struct state_cpu *cpu)
{
    struct item own = *item;

    own.pid = (int32_t)quick_read(&plan->a, item);
    stamp(source, cpu, plan, &own);
}

/* A thread that is not its process's first takes the first one's number. */
static void put_exec(struct state_source *source, const struct class_plan *plan,
                     const struct item *item, struct state_cpu *cpu)
{
    int32_t id = (int32_t)quick_read(&plan->a, item);
    int32_t old = plan->b.field >= 0 ? (int32_t)quick_read(&plan->b, item) : id;
    struct state_thread *thread;

    if (id == old || id == IDLE_THREAD || !cpu->known || cpu->runs != old)
        return;
    thread = find_current(source, cpu);
    if (thread) {
        state_thread_set(source, thread, STATE_UNKNOWN, item->time, false, STATE_ENDS);
        state_thread_forget(source, thread);
    }
    thread = state_thread_find(source, id);
    if (thread && thread->now.state != STATE_RUNNING) {
        state_thread_set(source, thread, STATE_UNKNOWN, item->time, false, STATE_IS_GONE);
        state_thread_forget(source, thread);
    }
    state_cpu_end(source, cpu, MAX(item->time, cpu->since), true);
    found_running(source, cpu, id, item->time, STATE_ENDS);
}

static void put_interrupt(struct state_source *source, const struct class_plan *plan,
                          const struct item *item, struct state_cpu *cpu)
{
    bool begins = plan->role == PLAN_INTERRUPT_BEGINS;
    int64_t time = MAX(item->time, cpu->since);

    if (unlikely(!(source->events & STATE_EVENT_INTERRUPT))) {
        source->events |= STATE_EVENT_INTERRUPT;
        state_learn_events(source, STATE_EVENT_INTERRUPT);
    }
    if (!cpu->known)
        return;
    if (unlikely(!begins && cpu->interrupts == 0 && !cpu->interrupts_known)) {
        /* It began before what is known of the CPU. */
        state_cpu_unknown(source, cpu, cpu->since, time);
        cpu->since = time;
    }
    if (begins ? cpu->interrupts++ > 0 : (cpu->interrupts == 0 || --cpu->interrupts > 0))
        return;
    state_cpu_end(source, cpu, time, true);
    cpu->state = begins ? STATE_INTERRUPT : cpu->base;
    cpu->since = time;
    cpu->since_seen = true;
    cpu->proof = MAX(cpu->proof, time);
}

static void put_guest(struct state_source *source, const struct class_plan *plan,
                      const struct item *item, struct state_cpu *cpu)
{
    struct state_thread *thread = state_thread_find(source, item->pid);

    source->events |= STATE_EVENT_GUEST;
    if (cpu && plan->role == PLAN_GUEST_BEGINS && cpu->interrupts == 0)
        cpu->interrupts_known = true;
    if (!thread || thread->now.state != STATE_RUNNING)
        return;
    state_guest_cross(source, &thread->guest, plan->role == PLAN_GUEST_BEGINS, item->time,
                      thread->now.begin, thread->now.begin_seen);
    if (plan->role == PLAN_GUEST_BEGINS) {
        /* Of another virtual machine than those whose threads are known, it would be mistaken for theirs. */
        if (plan->a.field >= 0 && (!item->origin->vm_name || item_vm_name(item)))
            thread->now.vcpu = (int32_t)quick_read(&plan->a, item);
    }
}

void state_kernel_put(struct state_source *source, const struct class_plan *plan,
                      const struct item *item)
{
    struct state_cpu *cpu = state_cpu_get(source, item->cpu);

    if (likely(cpu)) {
        state_cpu_seen(source, cpu, item->time);
        if (plan->role == PLAN_SWITCH) {
            put_switch(source, plan, item, cpu);
            return;
        }
        if (unlikely(plan->role == PLAN_EXEC))
            put_exec(source, plan, item, cpu);
        if (likely(source->stamped && item->pid >= 0))
            stamp(source, cpu, plan, item);
        if (unlikely(source->origin->pid_filter) && source->stamped && is_of_recorded_thread(plan))
            note_recorded(source, item->pid, item->time);
    }
    switch (plan->role) {
    case PLAN_WAKING:
    case PLAN_WAKEUP: put_wake(source, plan, item); break;
    case PLAN_WAKEUP_NEW: put_new(source, plan, item); break;
    case PLAN_MIGRATE: put_migrate(source, plan, item); break;
    case PLAN_EXIT: {
        struct state_thread *thread =
            state_thread_find(source, (int32_t)quick_read(&plan->a, item));

        source->events |= STATE_EVENT_EXIT;
        if (cpu && (!source->stamped || item->pid < 0) && quick_read(&plan->a, item) > 0)
            stamp_exit(source, plan, item, cpu);
        if (thread)
            thread->exiting = true;
        break;
    }
    case PLAN_INTERRUPT_BEGINS:
    case PLAN_INTERRUPT_ENDS:
        if (cpu)
            put_interrupt(source, plan, item, cpu);
        break;
    case PLAN_GUEST_BEGINS:
    case PLAN_GUEST_ENDS: put_guest(source, plan, item, cpu); break;
    default: break;
    }
}
