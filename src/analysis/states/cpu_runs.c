/* SPDX-License-Identifier: MIT */
#include "analysis/states/cpu_runs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/ticks.h"

#define FIRST_ROOM 64u

static uint64_t cpu_key(const struct origin *origin, int32_t cpu)
{
    return (uint64_t)(uintptr_t)origin * 65536 + (uint16_t)cpu;
}

struct cpu_log *cpu_runs_find(struct cpu_runs *runs, const struct origin *origin, int32_t cpu)
{
    uint64_t key = cpu_key(origin, cpu);
    unsigned i = (unsigned)cpu % CPU_RUNS_RECENT;

    if (cpu < 0)
        return NULL;
    if (unlikely(runs->recent[i].key != key || !runs->recent[i].log)) {
        runs->recent[i].key = key;
        runs->recent[i].log = map_get(&runs->cpus, key);
    }
    return runs->recent[i].log;
}

static _cold_ struct cpu_log *add_log(struct cpu_runs *runs, const struct origin *origin,
                                      int32_t cpu)
{
    struct cpu_log *log = calloc(1, sizeof *log);

    if (!log || map_put(&runs->cpus, cpu_key(origin, cpu), log) < 0) {
        free(log);
        return NULL;
    }
    log->origin = origin;
    log->cpu = cpu;
    return log;
}

static _cold_ int set_room(struct cpu_log *log, unsigned room)
{
    struct cpu_run *runs = malloc(room * sizeof *runs);

    if (!runs)
        return -ENOMEM;
    for (uint64_t i = log->first; i < log->n; i++)
        runs[i & (room - 1)] = *cpu_log_at(log, i);
    free(log->runs);
    log->runs = runs;
    log->room = room;
    return 0;
}

int cpu_runs_put(struct cpu_runs *runs, const struct state_interval *interval)
{
    struct cpu_log *log = cpu_runs_find(runs, interval->origin, interval->id);
    struct cpu_run run = {.begin = interval->begin, .end = interval->end, .by = interval->by};

    switch (interval->state) {
    case STATE_IDLE: run.by = RUN_IDLE; break;
    case STATE_INTERRUPT: run.by = RUN_INTERRUPT; break;
    case STATE_RUNNING: break;
    default: return 0;
    }
    if (!log)
        log = add_log(runs, interval->origin, interval->id);
    if (!log)
        return -ENOMEM;
    if (log->n - log->first == log->room) {
        if (runs->max > 0 && log->room >= runs->max) {
            log->first++;
            runs->n--;
        } else if (set_room(log, MAX(2 * log->room, FIRST_ROOM)) < 0) {
            return -ENOMEM;
        }
    }
    run.ran = log->ran;
    log->ran = ticks_sum(log->ran, ticks_between(run.begin, run.end));
    *cpu_log_at(log, log->n++) = run;
    runs->n++;
    return 0;
}

void cpu_runs_drop(struct cpu_runs *runs, int64_t until)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&runs->cpus, &iter, &key, &value)) {
        struct cpu_log *log = value;

        while (log->first < log->n && cpu_log_at(log, log->first)->end <= until) {
            log->first++;
            runs->n--;
        }
        /* Without memory, it stays as large as it is. */
        if (log->n - log->first < log->room / 8 && log->room > FIRST_ROOM)
            (void)set_room(log, log->room / 4);
    }
}

int64_t cpu_runs_oldest(const struct cpu_runs *runs)
{
    int64_t oldest = INT64_MAX;
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&runs->cpus, &iter, &key, &value)) {
        const struct cpu_log *log = value;

        if (log->first < log->n)
            oldest = MIN(oldest, cpu_log_at(log, log->first)->end);
    }
    return oldest;
}

void cpu_runs_done(struct cpu_runs *runs)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&runs->cpus, &iter, &key, &value)) {
        free(((struct cpu_log *)value)->runs);
        free(value);
    }
    map_done(&runs->cpus);
    *runs = (struct cpu_runs){0};
}

/* Returns the first run from number LOW to before HIGH that does not begin before TIME, or HIGH. */
static uint64_t first_from(const struct cpu_log *log, uint64_t low, uint64_t high, int64_t time)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (cpu_log_at(log, middle)->begin >= time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Moves the cursor of LOG to the first run that does not begin before END. Lookups are near each other, and may be
 * thousands of runs before the newest run (states.h, T3). */
static uint64_t seek(struct cpu_log *log, int64_t end)
{
    uint64_t from = MIN(MAX(log->cursor, log->first), log->n), step = 1;

    if (from < log->n && cpu_log_at(log, from)->begin < end) {
        while (log->n - from > step && cpu_log_at(log, from + step)->begin < end) {
            from += step;
            step *= 2;
        }
        return log->cursor = first_from(log, from + 1, MIN(from + step, log->n), end);
    }
    while (from - log->first > step && cpu_log_at(log, from - step)->begin >= end) {
        from -= step;
        step *= 2;
    }
    return log->cursor =
               first_from(log, from - log->first > step ? from - step : log->first, from, end);
}

/* Returns the first run before number UNTIL that ends after BEGIN, or UNTIL. Most waits are short. */
static uint64_t find_first(const struct cpu_log *log, uint64_t until, int64_t begin)
{
    uint64_t low = log->first, high = until;

    for (uint64_t step = 1; high - low > step; step *= 2) {
        if (cpu_log_at(log, high - step)->end <= begin) {
            low = high - step + 1;
            break;
        }
        high -= step;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (cpu_log_at(log, middle)->end <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void cpu_log_range(struct cpu_log *log, int64_t begin, int64_t end, uint64_t *ret_first,
                   uint64_t *ret_until)
{
    *ret_until = seek(log, end);
    *ret_first = find_first(log, *ret_until, begin);
}

int cpu_log_foreach(struct cpu_log *log, int64_t begin, int64_t end, cpu_run_fn *put, void *arg)
{
    uint64_t first = 0, until = 0;
    int64_t to = end;
    int r = 0;

    if (log)
        cpu_log_range(log, begin, end, &first, &until);
    for (uint64_t i = until; i > first && r >= 0; i--) {
        const struct cpu_run *run = cpu_log_at(log, i - 1);
        int64_t run_begin = MAX(run->begin, begin), run_end = MIN(run->end, to);

        if (run_end <= run_begin)
            continue;
        if (run_end < to)
            r = put(arg, RUN_UNKNOWN, run_end, to);
        if (r >= 0)
            r = put(arg, run->by, run_begin, run_end);
        to = run_begin;
    }
    return r >= 0 && to > begin ? put(arg, RUN_UNKNOWN, begin, to) : r;
}
