/* SPDX-License-Identifier: MIT */
#include "analysis/sched_who.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/ticks.h"

struct who_run {
    int64_t begin, end;
    int64_t ran, own; /* of all runs before it, and of Strata's own; OWN: once it is judged */
    int32_t by;
    bool is_own;
};

/* Its runs do not overlap and are in the order of time. */
struct who_cpu {
    uint64_t n; /* number N is at N % ROOM */
    struct who_run *runs;
    unsigned room;   /* a power of two */
    uint64_t cursor; /* the first run that begins after the last wait that was looked at */
    uint64_t judged; /* of those below, it is known whose they are */
    int64_t ran, own;
};

static uint64_t cpu_key(const struct origin *origin, int32_t cpu)
{
    return (uint64_t)(uintptr_t)origin * 65536 + (uint16_t)cpu;
}

void sched_who_done(struct sched_who *who)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&who->cpus, &iter, &key, &value)) {
        free(((struct who_cpu *)value)->runs);
        free(value);
    }
    free(who->list);
    who_victim_done(&who->others);
    map_done(&who->cpus);
    *who = (struct sched_who){0};
}

void who_victim_done(struct who_victim *victim)
{
    free(victim->pairs);
    free(victim->slots);
    *victim = (struct who_victim){0};
}

static struct who_cpu *add_cpu(struct sched_who *who, uint64_t key)
{
    struct who_cpu *cpu = calloc(1, sizeof *cpu);

    if (!cpu || map_put(&who->cpus, key, cpu) < 0) {
        free(cpu);
        return NULL;
    }
    return cpu;
}

/* NULL: there is none yet. */
static inline struct who_cpu *get_cpu(struct sched_who *who, const struct origin *origin,
                                      int32_t cpu)
{
    uint64_t key = cpu_key(origin, cpu);
    unsigned i = (unsigned)cpu % WHO_RECENT;

    if (unlikely(who->recent[i].key != key || !who->recent[i].cpu)) {
        who->recent[i].key = key;
        who->recent[i].cpu = map_get(&who->cpus, key);
    }
    return who->recent[i].cpu;
}

static int make_room(struct who_cpu *cpu)
{
    unsigned room = cpu->room ? cpu->room * 4 : 64;
    struct who_run *runs = realloc(cpu->runs, room * sizeof *runs);

    if (!runs)
        return -ENOMEM;
    cpu->runs = runs;
    cpu->room = room;
    return 0;
}

int sched_who_ran(struct sched_who *who, const struct state_interval *interval)
{
    struct who_cpu *cpu = get_cpu(who, interval->origin, interval->id);
    struct who_run run = {.begin = interval->begin, .end = interval->end, .by = interval->by};

    switch (interval->state) {
    case STATE_IDLE: run.by = WHO_IDLE; break;
    case STATE_INTERRUPT: run.by = WHO_INTERRUPT; break;
    case STATE_RUNNING: break;
    default: return 0;
    }
    if (!cpu)
        cpu = add_cpu(who, cpu_key(interval->origin, interval->id));
    if (!cpu)
        return -ENOMEM;
    /* It grows while nothing has gone round. */
    if (cpu->n == cpu->room && cpu->room < WHO_RUNS && make_room(cpu) < 0)
        return -ENOMEM;
    run.ran = cpu->ran;
    cpu->ran = ticks_sum(cpu->ran, ticks_between(run.begin, run.end));
    cpu->runs[cpu->n++ & (cpu->room - 1)] = run;
    return 0;
}

/* ---- pairs ---- */

/* The slot of BY: that of its pair, or a free one. */
static inline uint32_t *find_slot(const struct who_victim *victim, int32_t by)
{
    uint32_t i = (uint32_t)((uint32_t)by * UINT64_C(0x9e3779b97f4a7c15) >> 32);

    for (;; i++) {
        uint32_t *slot = &victim->slots[i & (victim->n_slots - 1)];

        if (*slot == 0 || victim->pairs[*slot - 1].by == by)
            return slot;
    }
}

static int make_slots(struct who_victim *victim)
{
    uint32_t n = victim->n_slots ? 2 * victim->n_slots : 16;
    uint32_t *slots = calloc(n, sizeof *slots);

    if (!slots)
        return -ENOMEM;
    free(victim->slots);
    victim->slots = slots;
    victim->n_slots = n;
    for (uint32_t i = 0; i < victim->n; i++)
        *find_slot(victim, victim->pairs[i].by) = i + 1;
    return 0;
}

static int make_pair_room(struct who_victim *victim)
{
    uint32_t room = victim->room ? 2 * victim->room : 8;
    struct who_pair *pairs = realloc(victim->pairs, room * sizeof *pairs);

    if (!pairs)
        return -ENOMEM;
    victim->pairs = pairs;
    victim->room = room;
    return 0;
}

static int make_list_room(struct sched_who *who)
{
    unsigned room = who->room ? 2 * who->room : 64;
    struct who_entry *list = realloc(who->list, room * sizeof *list);

    if (!list)
        return -ENOMEM;
    who->list = list;
    who->room = room;
    return 0;
}

static _cold_ struct who_pair *add_pair(struct sched_who *who, struct who_victim *victim,
                                        int32_t by)
{
    if (who->n >= WHO_PAIRS_MAX) {
        victim = &who->others;
        by = WHO_OTHERS;
        if (victim->n > 0)
            return &victim->pairs[0];
    }
    if ((who->n == who->room && make_list_room(who) < 0) ||
        (victim->n == victim->room && make_pair_room(victim) < 0) ||
        (2 * victim->n >= victim->n_slots && make_slots(victim) < 0))
        return NULL;
    *find_slot(victim, by) = victim->n + 1;
    who->list[who->n++] = (struct who_entry){.victim = victim, .pair = victim->n};
    victim->pairs[victim->n] = (struct who_pair){.by = by};
    return &victim->pairs[victim->n++];
}

static inline int add(struct sched_who *who, struct who_victim *victim, int32_t by, int64_t time)
{
    uint32_t slot = likely(victim->n_slots > 0) ? *find_slot(victim, by) : 0;
    struct who_pair *pair = likely(slot > 0) ? &victim->pairs[slot - 1] : add_pair(who, victim, by);

    if (unlikely(!pair))
        return -ENOMEM;
    if (pair->wait != who->n_waits) {
        pair->wait = who->n_waits;
        pair->in_wait = 0;
        pair->n++;
    }
    pair->sum = ticks_sum(pair->sum, time);
    pair->in_wait = ticks_sum(pair->in_wait, time);
    pair->max = MAX(pair->max, pair->in_wait);
    return 0;
}

/* ---- waits ---- */

static inline struct who_run *run_at(const struct who_cpu *cpu, uint64_t number)
{
    return &cpu->runs[number & (cpu->room - 1)];
}

/* Moves the cursor of CPU to the first run that does not begin before END. Waits end one after the other, and thousands
 * of runs before the newest one (states.h, T3). */
static uint64_t seek(struct who_cpu *cpu, uint64_t oldest, int64_t end)
{
    uint64_t i = MAX(cpu->cursor, oldest);

    while (i < cpu->n && run_at(cpu, i)->begin < end)
        i++;
    while (i > oldest && run_at(cpu, i - 1)->begin >= end)
        i--;
    return cpu->cursor = i;
}

/* Finds out whose the runs before number UNTIL are. What they are called is known by now: intervals of threads come in the
 * order of their ends. */
static void judge(const struct sched_who *who, struct who_cpu *cpu, const struct origin *origin,
                  uint64_t oldest, uint64_t until)
{
    for (uint64_t i = MAX(cpu->judged, oldest); i < until; i++) {
        struct who_run *run = run_at(cpu, i);

        run->own = cpu->own;
        run->is_own = run->by > 0 && who->is_own(who->arg, origin, run->by);
        if (run->is_own)
            cpu->own = ticks_sum(cpu->own, ticks_between(run->begin, run->end));
    }
    cpu->judged = MAX(cpu->judged, until);
}

/* The first run, from OLDEST on and before number UNTIL, that ends after BEGIN; UNTIL: none does. Most waits are short. */
static uint64_t find_first(const struct who_cpu *cpu, uint64_t oldest, uint64_t until,
                           int64_t begin)
{
    uint64_t low = oldest, high = until;

    for (uint64_t step = 1; high - low > step; step *= 2) {
        if (run_at(cpu, high - step)->end <= begin) {
            low = high - step + 1;
            break;
        }
        high -= step;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (run_at(cpu, middle)->end <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* VICTIM waited for a CPU while it did runs number FIRST to before UNTIL. */
static void add_times(struct who_victim *victim, const struct who_cpu *cpu, uint64_t first,
                      uint64_t until, int64_t begin, int64_t end)
{
    int64_t waited = ticks_between(begin, end), ran = 0, own = 0;

    if (first < until) {
        const struct who_run *one = run_at(cpu, first), *last = run_at(cpu, until - 1);
        int64_t before = one->begin < begin ? ticks_between(one->begin, begin) : 0;
        int64_t after = last->end > end ? ticks_between(end, last->end) : 0;
        int64_t length = ticks_between(last->begin, last->end);

        ran = last->ran - one->ran + length - before - after;
        own =
            last->own - one->own + (last->is_own ? length - after : 0) - (one->is_own ? before : 0);
    }
    victim->waited = ticks_sum(victim->waited, waited);
    victim->own = ticks_sum(victim->own, own);
    victim->unknown = ticks_sum(victim->unknown, waited - ran);
}

/* The same, by what ran. */
static int add_pairs(struct sched_who *who, struct who_victim *victim, const struct who_cpu *cpu,
                     uint64_t first, uint64_t until, int64_t begin, int64_t end)
{
    int64_t rest = ticks_between(begin, end);

    for (uint64_t i = until; i > first; i--) {
        const struct who_run *run = run_at(cpu, i - 1);
        int64_t time = ticks_between(MAX(run->begin, begin), MIN(run->end, end));

        if (time <= 0)
            continue;
        rest -= time;
        if (add(who, victim, run->by, time) < 0)
            return -ENOMEM;
    }
    return rest > 0 ? add(who, victim, WHO_UNKNOWN, rest) : 0;
}

/* VICTIM waited for CPU. */
static int look_back(struct sched_who *who, struct who_victim *victim, const struct origin *origin,
                     int32_t cpu, int64_t begin, int64_t end)
{
    struct who_cpu *log = cpu >= 0 ? get_cpu(who, origin, cpu) : NULL;
    uint64_t oldest = log && log->n > log->room ? log->n - log->room : 0;
    uint64_t until = log ? seek(log, oldest, end) : 0;
    uint64_t first = log ? find_first(log, oldest, until, begin) : 0;

    if (end <= begin)
        return 0;
    if (log)
        judge(who, log, origin, oldest, until);
    add_times(victim, log, first, until, begin, end);
    return who->has_pairs ? add_pairs(who, victim, log, first, until, begin, end) : 0;
}

int sched_who_waited(struct sched_who *who, struct who_victim *victim,
                     const struct state_interval *interval)
{
    int64_t begin = interval->begin;
    int r = 0;

    who->n_waits++;
    if (interval->moved_from != CPU_UNKNOWN && interval->moved_at > begin) {
        r = look_back(who, victim, interval->origin, interval->moved_from, begin,
                      MIN(interval->moved_at, interval->end));
        begin = MIN(interval->moved_at, interval->end);
    }
    return r < 0 ? r
                 : look_back(who, victim, interval->origin, interval->cpu, begin, interval->end);
}
