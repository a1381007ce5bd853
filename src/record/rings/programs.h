/* SPDX-License-Identifier: MIT */
#pragma once

/* Records a program that links libstrata, and programs that it forks and executes, into a trace directory. Each process
 * that creates rings in the recorder's directory (record/rings/rings_dir.h) is recorded into its own native trace until
 * it has ended. Not thread-safe.
 *
 * The native trace of a process states times of CLOCK_MONOTONIC, computed from its counter's ticks by one moment and
 * one rate. The error of these times is measured during the recording: the clocks are read repeatedly (clock_samples).
 * The error bound is the greatest distance of a reading from that line, plus the drift that is possible between two
 * readings. */

#include "record/rings/collect.h"
#include "record/rings/pool.h"
#include "record/rings/rings_dir.h"
#include "tracedir/manifest.h"

/* Limit of processes in one directory. Leaves room for sources of other recorders. */
#define PROGRAMS_MAX 960u

/* Assumed drift of the clock between readings, as in timeline/clock_map.h. */
#define PROGRAM_WANDER_PPM 20
#define CLOCK_SAMPLES_MAX 4096u

/* Readings of the counter and CLOCK_MONOTONIC at equal intervals. When the room is used up, the interval doubles. */
struct clock_samples {
    struct clock_sample {
        struct clock_pair pair;
        uint32_t error_ns;
    } * items;
    unsigned n;
    uint64_t every, next; /* ns */
};

/* -ENOMEM. The caller frees `items`. */
int clock_samples_init(struct clock_samples *ret);
/* Reads the clocks, unless it is too early at NOW (CLOCK_MONOTONIC, ns; UINT64_MAX: never too early). */
void clock_samples_take(struct clock_samples *samples, uint64_t now);

/* A process that is or was recorded. */
struct program {
    char name[48]; /* of the source, and of its directory */
    char *rings;   /* the directory of its rings */
    struct process *process;
    struct collector collector;
    uint64_t refine_at,
        /* ns: when its clock's rate is next stated, and the interval since the last time. */
        refine_after;
    bool collecting, ended;
    bool left; /* its rings could not be read completely, and stay */
    int error; /* why it is not recorded, or not any more; 0: it is recorded */
    char what[400];
    struct drain_stats taken;
    uint32_t pid;
    char program[17];
    bool counts; /* its clock is a counter that starts at `start` and runs at `hz` */
    struct clock_pair start;
    uint64_t hz;
    uint8_t uuid[16]; /* of its native trace */
    struct manifest_moment began, finished;
};

/* What was drained from it until now. */
struct drain_stats program_taken(const struct program *program);

struct programs {
    char *dir;         /* of the trace */
    uint64_t max_size; /* bytes of each process's trace; 0: no limit */
    struct locked_dir rings;
    struct pool *pool; /* NULL: no pool */
    /* the caller also polls programs_wakeup_fd() and the ends of the processes */
    bool may_sleep;
    bool is_armed;          /* processes wake the recorder (runtime/ring/pool_file.h) */
    uint64_t armed_at;      /* the recorder is not armed before, ns */
    uint64_t unarmed_sleep; /* until then: how long it sleeps while nothing comes, ns */
    struct futex_fd *wake;  /* NULL: processes cannot wake the recorder */
    uint32_t pool_changes;  /* at the last look */
    int watch;              /* inotify, for poll(2); -1: none */
    /* ns: when it last looked for new processes; it looks often until a look after look_until */
    uint64_t looked_at;
    uint64_t look_until, look_next;
    struct program **items;
    unsigned n, max;                 /* max: limit of n, PROGRAMS_MAX */
    unsigned n_passed_over;          /* at the last look: processes with rings beyond `max` */
    uint32_t main_pid;               /* of the process that was started; 0: unknown */
    const char *const *main_command; /* its command, ended by NULL; or NULL; borrowed */
    const char *const *filters;      /* filters of each process, as in manifest_source; borrowed */
    unsigned n_filters;
    const char *main_exit; /* as in manifest_vmm; NULL; borrowed */
    struct clock_samples samples;
    /* At the end: slots of the pool whose process files are damaged or missing. */
    unsigned slots_unread;
    /* At the last look: why rings of a process are not recorded; code 0: all are recorded. */
    struct error unread;
    bool changed; /* sources were added or have ended since the caller cleared this */
    /* If set, its manifest is written when the first processes were found and before their rings are drained, so that
     * the trace of a killed recorder includes them. Borrowed. May be NULL. */
    struct recording *recording;
};

/* Notes the clock that the metadata of NATIVE, the program's trace, describe. */
void program_note_clock(struct program *program, const struct native *native);

/* DIR is the existing directory of the trace. -errno with ERROR. */
int programs_open(const char *dir, struct programs *ret_programs, struct error *error);
/* Removes all rings, except rings that could not be read. */
void programs_close(struct programs *programs);

/* Returns the value of STRATA_TRACE with which a program creates its rings for this recording: BEFORE (NULL: nothing),
 * then options that switch on the N PATTERNS, each of which may be several with commas between them. The caller frees
 * it. NULL: out of memory. */
char *programs_environment(const struct programs *programs, const char *before,
                           const char *const *patterns, unsigned n);

/* Drains available data, also of new processes. *RET_SLEEP: ns until the next call is due, if `watch` and
 * programs_wakeup_fd() stay silent. Errors of one process are noted in its entry; the function succeeds. */
int programs_step(struct programs *programs, uint64_t *ret_sleep);
/* Drains everything that was committed until now, also by new processes, except from rings in overwrite mode. */
void programs_flush(struct programs *programs);
/* A descriptor that is readable when a ring has closed a sub-buffer; valid until the next step. -1: none. */
int programs_wakeup_fd(const struct programs *programs);
/* Drains available data for the last time, also of processes that continue to run. */
void programs_finish(struct programs *programs);
/* Looks for new processes now, even if that is not due. */
void programs_look(struct programs *programs);
/* The number of found processes that have not ended. */
unsigned programs_running(const struct programs *programs);

/* Returns the number of events of processes that could not create rings. *RET_PROCESSES: number of these processes. */
uint64_t programs_no_ring(const struct programs *programs, uint32_t *ret_processes);

/* Makes the sources of a manifest: *RET_N sources in ARENA, which point into ARENA and PROGRAMS. COMPLETE: this is the
 * last manifest. -ENOMEM. */
int programs_put_sources(const struct programs *programs, bool complete, struct arena *arena,
                         struct manifest_source **ret, unsigned *ret_n);
