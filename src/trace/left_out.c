/* SPDX-License-Identifier: MIT */
#include "trace/left_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/ticks.h"
#include "event/catalogue.h"
#include "event/value.h"

#define EVENTS_MAX (1u << 17)
/* Points after which a CPU counts as named. A wake-up that is about to choose a CPU names the CPU where the thread ran
 * last. */
#define POINTS_ENOUGH 8u
#define POINTS_NAMED 5u /* more than one event, because a damaged event may name any CPU */
#define POINTS_SURE 4u
#define POINTS_UNSURE 1u
#define SWITCHES_MIN 8u
#define BROKEN_MIN 3u
#define BROKEN_MIN_FEW 2u
/* One of so many switches at least, by L2, L3, L4 and L5. */
#define SELECTED_PART 4u
#define FILTERED_PART 50u
#define UNSURE_PART 20u
#define UNFOLLOWED_PART 20u
#define AWAY_PART 10u    /* … and of the time */
#define REFUTED_PART 10u /* one of so many at most */
#define IDLE_THREAD 0
/* After this time a CPU has switched to a thread that was put on it. */
#define SETTLED_NS 20000000u
#define SETTLED_TICKS INT64_C(100000000)

enum role_kind { ROLE_OTHER, ROLE_SWITCH, ROLE_SURE, ROLE_UNSURE };

/* The meaning of a class of events, and the numbers of the fields in question. */
struct class_role {
    enum role_kind kind;
    int first, second; /* -1: not used */
    /* A switch or a wake-up: it has the thread that does it, and the thread that `second` names. */
    bool is_of_two;
};

struct seen_cpu {
    bool has_events;
    /* Its last event was a switch, or a later event of the thread that left. */
    bool is_after_switch;
    int32_t from, to;
    int32_t runs; /* the thread that should have the next event; PID_UNKNOWN: not known */
    unsigned points;
    int64_t named; /* when it had POINTS_ENOUGH */
    int64_t first, last, switched;
};

struct seen_thread {
    bool has_events;
    bool has_own;    /* events other than switches and wake-ups */
    bool is_between; /* a switch to it, or from it, is missing */
    unsigned broken; /* switches to it after which its CPU has an event of another thread */
    /* `broken` when it last had an event of its own: the kernel's filter did not leave it out then */
    unsigned refuted;
    int64_t away; /* total time from these switches to the next event */
};

struct search {
    struct seen_cpu cpus[LEFT_OUT_CPUS];
    struct arena arena;
    struct map roles;   /* by the number of a class + 1 */
    struct map threads; /* struct seen_thread by thread number */
    int32_t recent_pid;
    struct seen_thread *recent;
    struct map pairs; /* who switched to whom, and woke whom: (uint64_t)who << 32 | whom */
    /* L5: threads whose events follow each other on a CPU without a switch; keys as in `pairs` */
    struct map breaks;
    unsigned n_switches;
    unsigned n_unfollowed; /* L5: how often a CPU continues with another thread without a switch */
    /* Switches by another thread than they name, because their numbers are of a container or of processes. */
    unsigned n_foreign;
    int64_t first, last;
    struct clock clock;
};

/* A key is never 0. */
static uint64_t thread_key(int32_t pid)
{
    return (uint64_t)(uint32_t)pid + 1;
}

/* Gets the role of events of CLASS. NULL if out of memory. */
static const struct class_role *get_role(struct search *search, const struct event_class *class)
{
    static const struct {
        const char *name;
        enum role_kind kind;
        const char *first, *second;
    } known[] = {
        {"sched_switch", ROLE_SWITCH, "prev_pid", "next_pid"},
        {"sched_wakeup", ROLE_SURE, "target_cpu", "pid"},
        {"sched_wakeup_new", ROLE_SURE, "target_cpu", "pid"},
        {"sched_migrate_task", ROLE_SURE, "dest_cpu", ""},
        {"sched_waking", ROLE_UNSURE, "target_cpu", "pid"},
    };
    struct class_role *role = map_get(&search->roles, (uint64_t) class->index + 1);

    if (role)
        return role;
    role = arena_alloc(&search->arena, sizeof *role);
    if (!role || map_put(&search->roles, (uint64_t) class->index + 1, role) < 0)
        return NULL;
    *role = (struct class_role){.first = -1, .second = -1};
    if (!class->group || strcmp(class->group, "sched") != 0)
        return role;
    for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
        if (strcmp(known[i].name, class->name) != 0)
            continue;
        role->first = event_class_field(class, known[i].first);
        role->second = event_class_field(class, known[i].second);
        if (role->first >= 0 && (role->second >= 0 || known[i].kind != ROLE_SWITCH))
            role->kind = known[i].kind;
        role->is_of_two = role->second >= 0;
    }
    return role;
}

/* NULL if out of memory. */
static struct seen_thread *get_thread(struct search *search, int32_t pid)
{
    struct seen_thread *thread;

    if (search->recent && search->recent_pid == pid)
        return search->recent;
    thread = map_get(&search->threads, thread_key(pid));
    if (!thread) {
        thread = arena_alloc(&search->arena, sizeof *thread);
        if (!thread || map_put(&search->threads, thread_key(pid), thread) < 0)
            return NULL;
        *thread = (struct seen_thread){0};
    }
    search->recent_pid = pid;
    search->recent = thread;
    return thread;
}

/* True if thread PID may be selected by L3. */
static bool has_own(const struct search *search, int32_t pid)
{
    const struct seen_thread *thread = map_get(&search->threads, thread_key(pid));

    return thread && thread->has_own && pid != IDLE_THREAD;
}

static uint64_t pair_key(int32_t pid, int32_t other)
{
    return ((uint64_t)(uint32_t)pid << 32 | (uint32_t)other) + 1;
}

static int note_pair(struct search *search, struct map *pairs, int32_t pid, int32_t other)
{
    if (pid == PID_UNKNOWN || pid == other || map_get(pairs, pair_key(pid, other)))
        return 0;
    return map_put(pairs, pair_key(pid, other), search);
}

/* An event at TIME names CPU NUMBER. */
static void name_cpu(struct search *search, int64_t number, unsigned points, int64_t time)
{
    struct seen_cpu *cpu;

    if (number < 0 || number >= LEFT_OUT_CPUS)
        return;
    cpu = &search->cpus[number];
    if (cpu->points < POINTS_ENOUGH && cpu->points + points >= POINTS_ENOUGH)
        cpu->named = time;
    cpu->points += cpu->points < POINTS_ENOUGH ? points : 0;
}

/* L2. CPU has an event of thread PID at TIME. Counts only the first event after a switch, for the thread that the
 * switch names. */
static int follow(struct search *search, struct seen_cpu *cpu, int32_t pid, int64_t time,
                  bool is_switch)
{
    struct seen_thread *thread;

    if (!cpu->is_after_switch)
        return 0;
    /* A thread that leaves its CPU has some events after the switch. */
    if (pid == cpu->from && pid != cpu->to && !is_switch)
        return 0;
    cpu->is_after_switch = false;
    if (pid == cpu->to || pid == PID_UNKNOWN || cpu->to == PID_UNKNOWN)
        return 0;
    thread = get_thread(search, cpu->to);
    if (!thread)
        return -ENOMEM;
    thread->broken++;
    thread->away += MAX(ticks_between(cpu->switched, time), 0);
    return 0;
}

/* L5. CPU has an event of thread PID, or a switch from it. Counts each change of threads, also on a CPU without
 * switches. */
static int check_thread(struct search *search, struct seen_cpu *cpu, int32_t pid, bool is_switch)
{
    struct seen_thread *thread, *other;
    int32_t runs = cpu->runs;

    if (pid == PID_UNKNOWN || (pid == cpu->from && cpu->runs == cpu->to && !is_switch))
        return 0;
    cpu->runs = pid;
    if (runs == PID_UNKNOWN || pid == runs || runs == IDLE_THREAD)
        return 0;
    search->n_unfollowed++;
    thread = get_thread(search, runs);
    other = thread ? get_thread(search, pid) : NULL;
    if (!other)
        return -ENOMEM;
    thread->is_between = other->is_between = true;
    return note_pair(search, &search->breaks, runs, pid);
}

/* Counts ITEM for its thread. IS_OF_TWO: as in struct class_role. */
static int note_thread(struct search *search, const struct item *item, bool is_of_two)
{
    struct seen_thread *thread;

    if (item->pid == PID_UNKNOWN)
        return 0;
    thread = get_thread(search, item->pid);
    if (!thread)
        return -ENOMEM;
    thread->has_events = true;
    if (!is_of_two) {
        thread->has_own = true;
        thread->refuted = thread->broken;
    }
    return 0;
}

static int put_event(struct search *search, const struct item *item)
{
    const struct class_role *role = get_role(search, item->class);
    struct seen_cpu *cpu;

    if (!role || note_thread(search, item, role->is_of_two) < 0)
        return -ENOMEM;
    if (role->is_of_two && note_pair(search, &search->pairs, item->pid,
                                     (int32_t)item_value(item, (unsigned)role->second).i) < 0)
        return -ENOMEM;
    if (item->cpu < 0 || item->cpu >= (int32_t)LEFT_OUT_CPUS)
        return 0;
    cpu = &search->cpus[item->cpu];
    if (!cpu->has_events) {
        cpu->first = item->time;
        cpu->from = cpu->to = cpu->runs = PID_UNKNOWN;
    }
    cpu->last = item->time;
    cpu->has_events = true;
    if (follow(search, cpu, item->pid, item->time, role->kind == ROLE_SWITCH) < 0)
        return -ENOMEM;
    if (check_thread(search, cpu,
                     role->kind == ROLE_SWITCH ? (int32_t)item_value(item, (unsigned)role->first).i
                                               : item->pid,
                     role->kind == ROLE_SWITCH) < 0)
        return -ENOMEM;
    if (role->kind == ROLE_SWITCH) {
        search->n_switches++;
        cpu->is_after_switch = true;
        cpu->switched = item->time;
        cpu->from = (int32_t)item_value(item, (unsigned)role->first).i;
        cpu->to = cpu->runs = (int32_t)item_value(item, (unsigned)role->second).i;
        search->n_foreign += item->pid != cpu->from && item->pid != PID_UNKNOWN;
    } else if (role->kind != ROLE_OTHER) {
        name_cpu(search, item_value(item, (unsigned)role->first).i,
                 role->kind == ROLE_SURE ? POINTS_SURE : POINTS_UNSURE, item->time);
    }
    return 0;
}

/* After a loss it is unknown which thread the CPU runs. */
static void put_loss(struct search *search, const struct item *item)
{
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++)
        if (item->cpu == CPU_UNKNOWN || item->cpu == (int32_t)i) {
            search->cpus[i].is_after_switch = false;
            search->cpus[i].runs = PID_UNKNOWN;
        }
}

static int look_through(struct search *search, struct source *source, unsigned max)
{
    const struct item *items;
    unsigned n = 0;
    int r = 0;

    while (n < max && (r = source_next(source, &items)) > 0) {
        n += (unsigned)r;
        for (int i = 0; i < r; i++) {
            if (items[i].time == TIME_UNKNOWN)
                continue;
            if (items[i].kind != ITEM_EVENT) {
                put_loss(search, &items[i]);
                continue;
            }
            search->last = MAX(search->last, items[i].time);
            if (search->first == TIME_UNKNOWN || items[i].time < search->first)
                search->first = items[i].time;
            search->clock = items[i].origin->clock;
            if (put_event(search, &items[i]) < 0)
                return -ENOMEM;
        }
    }
    return r == -ENOMEM ? r : 0;
}

/* Counts of the switches that are not followed by the thread that they name. */
struct broken {
    unsigned n;
    unsigned absent;  /* … whose thread has no events */
    unsigned idle;    /* … of these, to the idle thread */
    unsigned seen;    /* … whose thread has only switches and wake-ups */
    unsigned refuted; /* as in struct seen_thread */
    double away; /* time with threads that have no events, as a share of the time of all CPUs */
};

static void count_broken(const struct search *search, struct broken *ret)
{
    double away = 0, total = 0;
    size_t iter = 0;
    uint64_t key;
    void *value;

    *ret = (struct broken){0};
    while (map_next(&search->threads, &iter, &key, &value)) {
        const struct seen_thread *thread = value;

        if (key == thread_key(IDLE_THREAD) && thread->has_events)
            continue; /* L6 */
        ret->n += thread->broken;
        ret->refuted += thread->refuted;
        if (!thread->has_events) {
            ret->absent += thread->broken;
            ret->idle += key == thread_key(IDLE_THREAD) ? thread->broken : 0;
            away += (double)thread->away;
        } else if (!thread->has_own) {
            ret->seen += thread->broken;
        }
    }
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++)
        if (search->cpus[i].has_events)
            total += (double)ticks_between(search->cpus[i].first, search->cpus[i].last);
    ret->away = total > 0 ? away / total : 0;
}

/* By L3. */
static bool is_filtered(const struct search *search, const struct broken *broken)
{
    unsigned n = broken->seen + broken->absent;
    bool has_others = false;
    size_t iter = 0;
    uint64_t key;
    void *value;

    /* Threads that are hidden from who recorded have no event at all. */
    if (broken->seen == 0 || n < BROKEN_MIN_FEW || n < search->n_switches / FILTERED_PART ||
        broken->refuted > broken->seen / REFUTED_PART)
        return false;
    while (map_next(&search->pairs, &iter, &key, &value)) {
        bool is_own = has_own(search, (int32_t)((key - 1) >> 32));

        if (!is_own && !has_own(search, (int32_t)(key - 1)))
            return false;
        has_others |= !is_own;
    }
    return has_others;
}

static bool is_between(const struct search *search, int32_t pid)
{
    const struct seen_thread *thread = map_get(&search->threads, thread_key(pid));

    return thread && thread->is_between;
}

/* True if thread PID switches to or from the idle thread, or wakes it. It is the selected one of the two threads. */
static bool meets_idle(const struct search *search, int32_t pid)
{
    return map_get(&search->pairs, pair_key(IDLE_THREAD, pid)) ||
           map_get(&search->pairs, pair_key(pid, IDLE_THREAD));
}

/* L5: true if both threads of a pair in PAIRS are selected, if any threads are. */
static bool are_both_selected(const struct search *search, const struct map *pairs,
                              bool (*is_selected)(const struct search *search, int32_t pid))
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(pairs, &iter, &key, &value))
        if (is_selected(search, (int32_t)((key - 1) >> 32)) &&
            is_selected(search, (int32_t)(key - 1)))
            return true;
    return false;
}

/* By L5. */
static bool lacks_switches(const struct search *search)
{
    return search->n_switches >= SWITCHES_MIN && search->n_foreign <= search->n_switches / 2 &&
           search->n_unfollowed >= MAX(search->n_switches / UNFOLLOWED_PART, BROKEN_MIN) &&
           (are_both_selected(search, &search->pairs, is_between) ||
            are_both_selected(search, &search->breaks, meets_idle));
}

/* By L4. */
static bool is_unsure(const struct search *search, const struct broken *broken)
{
    return search->n_switches >= SWITCHES_MIN && broken->seen + broken->absent >= BROKEN_MIN_FEW &&
           (broken->n >= search->n_switches / UNSURE_PART || broken->away >= 1.0 / AWAY_PART ||
            broken->idle >= BROKEN_MIN);
}

static void judge_threads(const struct search *search, struct left_out *ret)
{
    struct broken broken;

    count_broken(search, &broken);
    ret->n_switches = search->n_switches;
    ret->n_broken = broken.n;
    if (is_filtered(search, &broken)) {
        ret->threads = LEFT_OUT_FILTERED;
    } else if (broken.absent >= BROKEN_MIN && broken.absent >= broken.n / 10 * 9 &&
               broken.absent >= search->n_switches / SELECTED_PART) {
        ret->threads = LEFT_OUT_SELECTED;
    } else if (lacks_switches(search)) {
        ret->threads = LEFT_OUT_SWITCHES;
        ret->n_broken = search->n_unfollowed;
    } else if (is_unsure(search, &broken)) {
        ret->threads = LEFT_OUT_UNSURE;
    }
}

static int64_t find_last_begin(const struct search *search)
{
    int64_t last = TIME_UNKNOWN;
    unsigned n = 0;

    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++) {
        if (!search->cpus[i].has_events)
            continue;
        last = n++ == 0 ? search->cpus[i].first : MAX(last, search->cpus[i].first);
    }
    return n > 1 && search->n_switches > 0 ? last : 0;
}

static void judge(const struct search *search, struct left_out *ret)
{
    int64_t settled =
        search->clock.hz > 0 ? clock_from_ns(&search->clock, SETTLED_NS) : SETTLED_TICKS;

    *ret = (struct left_out){.first = search->first, .last_begin = find_last_begin(search)};
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++)
        if (search->cpus[i].points >= POINTS_NAMED)
            cpu_set_add(&ret->named, i);
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++)
        if (search->cpus[i].has_events)
            cpu_set_add(&ret->with_events, i);
    judge_threads(search, ret);
    if ((ret->threads != LEFT_OUT_NONE && ret->threads != LEFT_OUT_UNSURE) ||
        search->n_switches < SWITCHES_MIN)
        return;
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++) {
        const struct seen_cpu *cpu = &search->cpus[i];

        if (!cpu->has_events && cpu->points >= POINTS_ENOUGH &&
            ticks_between(cpu->named, search->last) >= settled)
            cpu_set_add(&ret->cpus, i);
    }
}

static int find_in_sources(struct source **sources, unsigned n, struct left_out *ret)
{
    struct search *search = calloc(1, sizeof *search);
    int r = 0;

    if (!search)
        return -ENOMEM;
    search->first = search->last = TIME_UNKNOWN;
    for (unsigned i = 0; i < n && r == 0; i++)
        r = look_through(search, sources[i], EVENTS_MAX / n);
    if (r == 0)
        judge(search, ret);
    map_done(&search->roles);
    map_done(&search->threads);
    map_done(&search->pairs);
    map_done(&search->breaks);
    arena_done(&search->arena);
    free(search);
    return r;
}

int left_out_find_in(int r, struct source **sources, unsigned n, struct catalogue *catalogue,
                     struct left_out *ret)
{
    if (r >= 0)
        r = find_in_sources(sources, n, ret);
    /* Which of host and guests lacks what cannot be told; and what the reader itself knows is not looked for. */
    if (catalogue->n_origins != 1)
        ret->threads = LEFT_OUT_NONE;
    else if (catalogue->origins[0]->threads_only)
        *ret = (struct left_out){0};
    for (unsigned i = 0; i < n; i++)
        source_free(sources[i]);
    free(sources);
    catalogue_done(catalogue);
    return r == -ENOMEM ? r : 0;
}
