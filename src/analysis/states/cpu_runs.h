/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps what CPUs ran lately, to find who ran while something waited for a CPU.
 *
 * Keeps the last `max` runs of each CPU, or the runs that the caller does not drop. Earlier runs are unknown. Times are
 * ticks of the trace's clock. Not thread-safe. */

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
    int64_t ran; /* total time of all earlier runs */
    int64_t own; /* the caller's, like `is_own` */
    int32_t by;
    bool is_own;
};

/* The runs of a CPU do not overlap, and are in the order of time. */
struct cpu_log {
    const struct origin *origin;
    int32_t cpu;
    /* Runs from number `first` to before `n` are kept; number I is at I % `room`. */
    uint64_t first, n;
    struct cpu_run *runs;
    unsigned room;   /* a power of two, or 0 */
    uint64_t cursor; /* the first run that begins after the last lookup's time */
    int64_t ran;
    uint64_t judged; /* the caller's: of earlier runs, `own` and `is_own` are known */
    int64_t own;     /* the caller's */
};

#define CPU_RUNS_RECENT 16
struct cpu_runs {
    unsigned max;    /* runs of a CPU: a power of two; 0: unlimited */
    unsigned n;      /* runs of all CPUs */
    struct map cpus; /* by origin and CPU */
    struct {
        uint64_t key;
        struct cpu_log *log; /* NULL if empty */
    } recent[CPU_RUNS_RECENT];
};

/* Adds INTERVAL of a CPU. Does nothing if it does not say what ran. 0, -ENOMEM. */
int cpu_runs_put(struct cpu_runs *runs, const struct state_interval *interval);
/* Returns the log of CPU. NULL if it has no runs, or if CPU is negative, which is unknown. */
struct cpu_log *cpu_runs_find(struct cpu_runs *runs, const struct origin *origin, int32_t cpu);
/* Forgets runs that ended until UNTIL. */
void cpu_runs_drop(struct cpu_runs *runs, int64_t until);
/* The end of the oldest run, or INT64_MAX. */
int64_t cpu_runs_oldest(const struct cpu_runs *runs);
void cpu_runs_done(struct cpu_runs *runs);

static inline struct cpu_run *cpu_log_at(const struct cpu_log *log, uint64_t number)
{
    return &log->runs[number & (log->room - 1)];
}

/* Finds the runs from BEGIN to END: from number *RET_FIRST to before *RET_UNTIL. */
void cpu_log_range(struct cpu_log *log, int64_t begin, int64_t end, uint64_t *ret_first,
                   uint64_t *ret_until);
/* Calls PUT for each run from BEGIN to END, the latest first, and for RUN_UNKNOWN with each part whose run is unknown. LOG may be
 * NULL. 0, or a negative result of PUT. */
typedef int cpu_run_fn(void *arg, int32_t by, int64_t begin, int64_t end);
int cpu_log_foreach(struct cpu_log *log, int64_t begin, int64_t end, cpu_run_fn *put, void *arg);

/* A part of a wait, for one CPU. */
struct cpu_wait {
    int64_t begin, end;
    int32_t cpu; /* negative: unknown */
};

/* Finds for which CPU a wait from BEGIN to END waited, in a state with MOVED_FROM, MOVED_AT and CPU (struct
 * state_interval). Returns the number of parts. */
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
