/* SPDX-License-Identifier: MIT */
#include "analysis/sched_who.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/ticks.h"

struct who_run {
    int64_t begin, end;
    int32_t by;
};

struct who_cpu {
    uint64_t n; /* number N is at N % WHO_RUNS */
    struct who_run *runs;
    unsigned room; /* a power of two */
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
    for (unsigned i = 0; i < who->n; i++)
        free(who->list[i]);
    free(who->list);
    map_done(&who->cpus);
    map_done(&who->pairs);
    *who = (struct sched_who){0};
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
    uint64_t key = cpu_key(interval->origin, interval->id);
    struct who_cpu *cpu = map_get(&who->cpus, key);
    struct who_run run = {.begin = interval->begin, .end = interval->end, .by = interval->by};

    switch (interval->state) {
    case STATE_IDLE: run.by = WHO_IDLE; break;
    case STATE_INTERRUPT: run.by = WHO_INTERRUPT; break;
    case STATE_RUNNING: break;
    default: return 0;
    }
    if (!cpu)
        cpu = add_cpu(who, key);
    if (!cpu)
        return -ENOMEM;
    /* It grows while nothing has gone round. */
    if (cpu->n == cpu->room && cpu->room < WHO_RUNS && make_room(cpu) < 0)
        return -ENOMEM;
    cpu->runs[cpu->n++ & (cpu->room - 1)] = run;
    return 0;
}

static struct who_pair *get_pair(struct sched_who *who, void *victim, const struct origin *origin,
                                 int32_t by)
{
    uint64_t key = (uint64_t)(uintptr_t)victim * UINT64_C(0x9e3779b97f4a7c15) + (uint32_t)by;
    struct who_pair *pair = map_get(&who->pairs, key);

    if (likely(pair != NULL))
        return pair;
    if (who->n >= WHO_PAIRS_MAX && by != WHO_OTHERS)
        return get_pair(who, NULL, origin, WHO_OTHERS);
    if (who->n == who->room) {
        unsigned room = who->room ? 2 * who->room : 64;
        struct who_pair **list = realloc(who->list, room * sizeof *list);

        if (!list)
            return NULL;
        who->list = list;
        who->room = room;
    }
    pair = calloc(1, sizeof *pair);
    if (!pair || map_put(&who->pairs, key, pair) < 0) {
        free(pair);
        return NULL;
    }
    *pair = (struct who_pair){.victim = victim, .origin = origin, .by = by};
    who->list[who->n++] = pair;
    return pair;
}

static int add(struct sched_who *who, void *victim, const struct origin *origin, int32_t by,
               int64_t time)
{
    struct who_pair *pair = get_pair(who, victim, origin, by);

    if (!pair)
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

/* VICTIM waited for CPU. */
static int look_back(struct sched_who *who, void *victim, const struct origin *origin, int32_t cpu,
                     int64_t begin, int64_t end)
{
    const struct who_cpu *log = cpu >= 0 ? map_get(&who->cpus, cpu_key(origin, cpu)) : NULL;
    int64_t rest = ticks_between(begin, end);
    uint64_t i = log ? log->n : 0;
    uint64_t oldest = log && log->n > log->room ? log->n - log->room : 0;

    for (; i > oldest; i--) {
        const struct who_run *run = &log->runs[(i - 1) & (log->room - 1)];
        int64_t time = ticks_between(MAX(run->begin, begin), MIN(run->end, end));

        if (run->end <= begin)
            break;
        if (time <= 0)
            continue;
        rest -= time;
        if (add(who, victim, origin, run->by, time) < 0)
            return -ENOMEM;
    }
    return rest > 0 ? add(who, victim, origin, WHO_UNKNOWN, rest) : 0;
}

int sched_who_waited(struct sched_who *who, void *victim, const struct state_interval *interval)
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
