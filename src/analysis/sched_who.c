/* SPDX-License-Identifier: MIT */
#include "analysis/sched_who.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/ticks.h"

void sched_who_done(struct sched_who *who)
{
    cpu_runs_done(&who->cpus);
    free(who->list);
    who_victim_done(&who->others);
    *who = (struct sched_who){0};
}

void who_victim_done(struct who_victim *victim)
{
    free(victim->pairs);
    free(victim->slots);
    *victim = (struct who_victim){0};
}

int sched_who_ran(struct sched_who *who, const struct state_interval *interval)
{
    who->cpus.max = WHO_RUNS;
    return cpu_runs_put(&who->cpus, interval);
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

/* Finds out whose the runs before number UNTIL are. What they are called is known by now: intervals of threads come in the
 * order of their ends. */
static void judge(const struct sched_who *who, struct cpu_log *cpu, uint64_t until)
{
    for (uint64_t i = MAX(cpu->judged, cpu->first); i < until; i++) {
        struct cpu_run *run = cpu_log_at(cpu, i);

        run->own = cpu->own;
        run->is_own = run->by > 0 && who->is_own(who->arg, cpu->origin, run->by);
        if (run->is_own)
            cpu->own = ticks_sum(cpu->own, ticks_between(run->begin, run->end));
    }
    cpu->judged = MAX(cpu->judged, until);
}

/* VICTIM waited for a CPU while it did runs number FIRST to before UNTIL. */
static void add_times(struct who_victim *victim, const struct cpu_log *cpu, uint64_t first,
                      uint64_t until, int64_t begin, int64_t end)
{
    int64_t waited = ticks_between(begin, end), ran = 0, own = 0;

    if (first < until) {
        const struct cpu_run *one = cpu_log_at(cpu, first), *last = cpu_log_at(cpu, until - 1);
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

struct adding {
    struct sched_who *who;
    struct who_victim *victim;
};

static int add_pair_time(void *arg, int32_t by, int64_t begin, int64_t end)
{
    const struct adding *adding = arg;

    return add(adding->who, adding->victim, by, ticks_between(begin, end));
}

/* VICTIM waited for CPU. */
static int look_back(struct sched_who *who, struct who_victim *victim, const struct origin *origin,
                     const struct cpu_wait *wait)
{
    struct cpu_log *log = cpu_runs_find(&who->cpus, origin, wait->cpu);
    uint64_t first = 0, until = 0;

    if (log) {
        cpu_log_range(log, wait->begin, wait->end, &first, &until);
        judge(who, log, until);
    }
    add_times(victim, log, first, until, wait->begin, wait->end);
    return who->has_pairs ? cpu_log_foreach(log, wait->begin, wait->end, add_pair_time,
                                            &(struct adding){who, victim})
                          : 0;
}

int sched_who_waited(struct sched_who *who, struct who_victim *victim,
                     const struct state_interval *interval)
{
    struct cpu_wait waits[2];
    unsigned n = cpu_waits(interval->begin, interval->end, interval->moved_from, interval->moved_at,
                           interval->cpu, waits);
    int r = 0;

    who->n_waits++;
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = look_back(who, victim, interval->origin, &waits[i]);
    return r;
}
