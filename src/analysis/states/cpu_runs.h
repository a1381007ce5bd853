/* SPDX-License-Identifier: MIT */
#pragma once

/* What CPUs ran lately: who ran while something waited for one.
 *
 * The last `max` runs of each CPU are kept, or those that the user does not drop; what is older is unknown. Times are ticks of the
 * trace's clock. Not thread-safe. */

#include "analysis/states/states.h"
#include "base/map.h"

/* What ran, if not a thread or a vCPU. */
enum {
    RUN_IDLE = -1,
    RUN_INTERRUPT = -2,
    RUN_UNKNOWN = -3, /* events were lost or are missing, or it is too long ago */
};

struct cpu_run {
    int64_t begin, end;
    int64_t ran; /* by all runs before it */
    int64_t own; /* the user's, as `is_own` is */
    int32_t by;
    bool is_own;
};

/* Runs of a CPU do not overlap and are in the order of time. */
struct cpu_log {
    const struct origin *origin;
    int32_t cpu;
    uint64_t first, n; /* numbers FIRST to before N are kept; number I is at I % ROOM */
    struct cpu_run *runs;
    unsigned room;   /* a power of two, or 0 */
    uint64_t cursor; /* the first run that begins after the last time that was looked for */
    int64_t ran;
    uint64_t judged; /* the user's: of runs below, `own` and `is_own` are known */
    int64_t own;     /* the user's */
};

#define CPU_RUNS_RECENT 16
struct cpu_runs {
    unsigned max;    /* of a CPU: a power of two; 0: any number */
    unsigned n;      /* of all CPUs */
    struct map cpus; /* by origin and CPU */
    struct {
        uint64_t key;
        struct cpu_log *log; /* NULL: none */
    } recent[CPU_RUNS_RECENT];
};

/* INTERVAL is of a CPU. Nothing if it does not say what ran. 0, -ENOMEM. */
int cpu_runs_put(struct cpu_runs *runs, const struct state_interval *interval);
/* NULL: there is nothing of this CPU; or it is not known which it is (below 0). */
struct cpu_log *cpu_runs_find(struct cpu_runs *runs, const struct origin *origin, int32_t cpu);
/* Forgets what ended until TIME. */
void cpu_runs_drop(struct cpu_runs *runs, int64_t until);
/* When the oldest of the runs ended; INT64_MAX: there is none. */
int64_t cpu_runs_oldest(const struct cpu_runs *runs);
void cpu_runs_done(struct cpu_runs *runs);

static inline struct cpu_run *cpu_log_at(const struct cpu_log *log, uint64_t number)
{
    return &log->runs[number & (log->room - 1)];
}

/* The runs from BEGIN to END are those from number *RET_FIRST to before *RET_UNTIL. */
void cpu_log_range(struct cpu_log *log, int64_t begin, int64_t end, uint64_t *ret_first,
                   uint64_t *ret_until);
/* Calls PUT for what ran from BEGIN to END, the latest first, and for RUN_UNKNOWN if that is not all; LOG may be NULL. 0, or what is
 * below 0 of PUT. */
int cpu_log_foreach(struct cpu_log *log, int64_t begin, int64_t end,
                    int (*put)(void *arg, int32_t by, int64_t ticks), void *arg);

/* A part of a wait, for one CPU. */
struct cpu_wait {
    int64_t begin, end;
    int32_t cpu; /* below 0: not known */
};

/* What is waited for from BEGIN to END, in a state that has MOVED_FROM, MOVED_AT and CPU (struct state_interval). Returns how many
 * parts there are. */
static inline unsigned cpu_waits(int64_t begin, int64_t end, int32_t moved_from, int64_t moved_at,
                                 int32_t cpu, struct cpu_wait ret[2])
{
    int64_t middle = moved_from == CPU_UNKNOWN || moved_at < begin ? begin
                     : moved_at > end                              ? end
                                                                   : moved_at;
    unsigned n = 0;

    if (middle > begin)
        ret[n++] = (struct cpu_wait){begin, middle, moved_from};
    if (end > middle)
        ret[n++] = (struct cpu_wait){middle, end, cpu};
    return n;
}
