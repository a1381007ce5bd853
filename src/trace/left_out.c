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
/* Threads that have no event though a CPU switched to them, and that have: beyond, no more are noted. */
#define BROKEN_MAX 4096u
/* A CPU is named when it has so many points. A wake-up that is about to choose a CPU names the one where the thread ran last. */
#define POINTS_ENOUGH 8u
#define POINTS_NAMED 5u /* more than one event: what is damaged may name any */
#define POINTS_SURE 4u
#define POINTS_UNSURE 1u
#define SWITCHES_MIN 8u
#define BROKEN_MIN 3u
#define BROKEN_MIN_FILTER 2u
#define IDLE_THREAD 0
/* After so long, a CPU has switched to what was put on it. */
#define SETTLED_NS 20000000u
#define SETTLED_TICKS INT64_C(100000000)

enum role_kind { ROLE_OTHER, ROLE_SWITCH, ROLE_SURE, ROLE_UNSURE };

/* What the events of a class are, and the numbers of their fields. */
struct class_role {
    enum role_kind kind;
    int first, second; /* -1: none */
    bool
        is_of_two; /* a switch or a wake-up: of the thread that does it, and of the one that `second` names */
};

struct seen_cpu {
    bool has_events;
    bool is_after_switch; /* its last event was a switch, or one of the thread that left */
    int32_t from, to;
    unsigned points;
    int64_t named; /* when it had enough points */
};

struct search {
    struct seen_cpu cpus[LEFT_OUT_CPUS];
    struct arena arena;
    struct map roles;   /* by the number of a class, + 1 */
    struct map threads; /* that have events: by number */
    int32_t recent;     /* the last of them */
    struct map own;     /* threads that have events other than switches and wake-ups: by number */
    int32_t recent_own; /* the last of them */
    struct map pairs;   /* who switched to whom, and woke whom: (uint64_t)who << 32 | whom */
    int32_t broken[BROKEN_MAX];
    unsigned n_broken, n_switches;
    int64_t last;
    struct clock clock;
};

/* 0 is no key. */
static uint64_t thread_key(int32_t pid)
{
    return (uint64_t)(uint32_t)pid + 1;
}

/* The role of events of CLASS. NULL: memory is out. */
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

/* Adds PID to THREADS; RECENT: what was added last. */
static int note_thread(struct map *threads, int32_t *recent, int32_t pid)
{
    if (pid == *recent || pid == PID_UNKNOWN)
        return 0;
    *recent = pid;
    return map_get(threads, thread_key(pid)) ? 0 : map_put(threads, thread_key(pid), threads);
}

/* L3. */
static int note_pair(struct search *search, int32_t pid, int32_t other)
{
    uint64_t pair = (uint64_t)(uint32_t)pid << 32 | (uint32_t)other;

    if (pid == PID_UNKNOWN || pid == other || map_get(&search->pairs, pair + 1))
        return 0;
    return map_put(&search->pairs, pair + 1, search);
}

/* The CPU of NUMBER was named by an event at TIME. */
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

/* L2. CPU has an event of thread PID. */
static void follow(struct search *search, struct seen_cpu *cpu, int32_t pid, bool is_switch)
{
    if (!cpu->is_after_switch)
        return;
    /* A thread that leaves its CPU has some events after the switch. */
    if (pid == cpu->from && pid != cpu->to && !is_switch)
        return;
    cpu->is_after_switch = false;
    if (pid != cpu->to && pid != PID_UNKNOWN && cpu->to != PID_UNKNOWN &&
        search->n_broken < BROKEN_MAX)
        search->broken[search->n_broken++] = cpu->to;
}

static int put_event(struct search *search, const struct item *item)
{
    const struct class_role *role = get_role(search, item->class);
    struct seen_cpu *cpu;

    if (!role || note_thread(&search->threads, &search->recent, item->pid) < 0)
        return -ENOMEM;
    if (role->is_of_two
            ? note_pair(search, item->pid, (int32_t)item_value(item, (unsigned)role->second).i) < 0
            : note_thread(&search->own, &search->recent_own, item->pid) < 0)
        return -ENOMEM;
    if (item->cpu < 0 || item->cpu >= (int32_t)LEFT_OUT_CPUS)
        return 0;
    cpu = &search->cpus[item->cpu];
    cpu->has_events = true;
    follow(search, cpu, item->pid, role->kind == ROLE_SWITCH);
    if (role->kind == ROLE_SWITCH) {
        search->n_switches++;
        cpu->is_after_switch = true;
        cpu->from = (int32_t)item_value(item, (unsigned)role->first).i;
        cpu->to = (int32_t)item_value(item, (unsigned)role->second).i;
    } else if (role->kind != ROLE_OTHER) {
        name_cpu(search, item_value(item, (unsigned)role->first).i,
                 role->kind == ROLE_SURE ? POINTS_SURE : POINTS_UNSURE, item->time);
    }
    return 0;
}

/* What a CPU did after its last event is not known. */
static void put_loss(struct search *search, const struct item *item)
{
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++)
        if (item->cpu == CPU_UNKNOWN || item->cpu == (int32_t)i)
            search->cpus[i].is_after_switch = false;
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
            search->clock = items[i].origin->clock;
            if (put_event(search, &items[i]) < 0)
                return -ENOMEM;
        }
    }
    return r == -ENOMEM ? r : 0;
}

/* L3. */
static bool is_filtered(const struct search *search)
{
    size_t iter = 0;
    bool is_seen = false;
    bool has_others = false;
    uint64_t key;
    void *value;

    if (search->n_broken < BROKEN_MIN_FILTER)
        return false;
    for (unsigned i = 0; i < search->n_broken; i++) {
        if (map_get(&search->own, thread_key(search->broken[i])))
            return false;
        is_seen |= map_get(&search->threads, thread_key(search->broken[i])) != NULL;
    }
    /* Threads that are hidden from who recorded have no event at all. */
    if (!is_seen)
        return false;
    while (map_next(&search->pairs, &iter, &key, &value)) {
        bool is_own = map_get(&search->own, thread_key((int32_t)((key - 1) >> 32)));

        if (!is_own && !map_get(&search->own, thread_key((int32_t)(key - 1))))
            return false;
        has_others |= !is_own;
    }
    return has_others;
}

static void judge(const struct search *search, struct left_out *ret)
{
    int64_t settled =
        search->clock.hz > 0 ? clock_from_ns(&search->clock, SETTLED_NS) : SETTLED_TICKS;
    unsigned n_absent = 0;
    bool is_idle_absent = false;

    *ret = (struct left_out){0};
    for (unsigned i = 0; i < LEFT_OUT_CPUS; i++)
        if (search->cpus[i].points >= POINTS_NAMED)
            cpu_set_add(&ret->named, i);
    ret->filtered = is_filtered(search);
    if (ret->filtered)
        return;
    for (unsigned i = 0; i < search->n_broken; i++) {
        bool is_absent = !map_get(&search->threads, thread_key(search->broken[i]));

        n_absent += is_absent;
        is_idle_absent |= is_absent && search->broken[i] == IDLE_THREAD;
    }
    ret->threads = n_absent >= BROKEN_MIN && n_absent >= search->n_broken / 10 * 9 &&
                   (is_idle_absent || n_absent >= MIN(search->n_switches, BROKEN_MAX) / 2);
    for (unsigned i = 0; i < LEFT_OUT_CPUS && !ret->threads && search->n_switches >= SWITCHES_MIN;
         i++) {
        const struct seen_cpu *cpu = &search->cpus[i];

        if (!cpu->has_events && cpu->points >= POINTS_ENOUGH &&
            ticks_between(cpu->named, search->last) >= settled)
            cpu_set_add(&ret->cpus, i);
    }
}

int left_out_find(struct source **sources, unsigned n, struct left_out *ret)
{
    struct search *search = calloc(1, sizeof *search);
    int r = 0;

    if (!search)
        return -ENOMEM;
    search->recent = search->recent_own = PID_UNKNOWN;
    search->last = TIME_UNKNOWN;
    for (unsigned i = 0; i < n && r == 0; i++)
        r = look_through(search, sources[i], EVENTS_MAX / n);
    if (r == 0)
        judge(search, ret);
    map_done(&search->roles);
    map_done(&search->threads);
    map_done(&search->own);
    map_done(&search->pairs);
    arena_done(&search->arena);
    free(search);
    return r;
}

int left_out_find_in(int r, struct source **sources, unsigned n, struct catalogue *catalogue,
                     struct left_out *ret)
{
    if (r >= 0)
        r = left_out_find(sources, n, ret);
    for (unsigned i = 0; i < n; i++)
        source_free(sources[i]);
    free(sources);
    catalogue_done(catalogue);
    return r == -ENOMEM ? r : 0;
}
