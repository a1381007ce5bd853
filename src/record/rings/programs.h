/* SPDX-License-Identifier: MIT */
#pragma once

/* Records a program that links libstrata, and those that it forks and executes, into a trace directory: each
 * process that makes rings in a directory of ours (record/rings/rings_dir.h) is recorded, into a native trace of
 * its own, until it has ended. Not thread-safe.
 *
 * The native trace of a process states times of CLOCK_MONOTONIC, which it makes of its counter's ticks by one
 * moment and one rate. By how much that may be wrong is measured while it is recorded: the clocks are read
 * again and again (clock_samples), and the greatest distance of what was read to that line is the bound, with
 * what the clocks may have wandered between two readings. */

#include "record/rings/collect.h"
#include "record/rings/pool.h"
#include "record/rings/rings_dir.h"
#include "tracedir/manifest.h"

/* Sources of one directory, with room for others'. */
#define PROGRAMS_MAX 960u

/* What the clock is assumed to wander between readings, as in timeline/clock_map.h. */
#define PROGRAM_WANDER_PPM 20
#define CLOCK_SAMPLES_MAX 4096u

/* Readings of the counter and CLOCK_MONOTONIC, at even distances: these double when there is no more room. */
struct clock_samples {
    struct clock_sample {
        struct clock_pair pair;
        uint32_t error_ns;
    } * items;
    unsigned n;
    uint64_t every, next; /* ns */
};

/* -ENOMEM. `items` is to be freed. */
int clock_samples_init(struct clock_samples *ret);
/* Reads the clocks, unless it is too early at NOW (CLOCK_MONOTONIC, ns; UINT64_MAX: it never is). */
void clock_samples_take(struct clock_samples *samples, uint64_t now);

/* A process that is recorded, or was. */
struct program {
    char name[48]; /* of the source, and of its directory */
    char *rings;   /* the directory of its rings */
    struct process *process;
    struct collector collector;
    uint64_t refine_at,
        refine_after; /* ns: when its clock's rate is next stated, and how long after the last time */
    bool collecting, ended;
    bool left; /* its rings could not be read to the end, and stay */
    int error; /* why it is not recorded, or no further; 0 */
    char what[400];
    struct drain_stats taken;
    uint32_t pid;
    char program[17];
    bool counts; /* its clock is a counter, which starts at `start` and runs at `hz` */
    struct clock_pair start;
    uint64_t hz;
    uint8_t uuid[16]; /* of its native trace */
    struct manifest_moment began, finished;
};

/* What was drained of it until now. */
struct drain_stats program_taken(const struct program *program);

struct programs {
    char *dir;         /* of the trace */
    uint64_t max_size; /* of each process's part, bytes; 0: any */
    struct locked_dir rings;
    struct pool *pool; /* NULL: there is none */
    bool may_sleep;    /* the caller polls programs_wakeup_fd() as well, and the processes' ends */
    bool is_armed;     /* processes wake us (runtime/ring/pool_file.h) */
    uint64_t armed_at; /* not before that, ns … */
    uint64_t unarmed_sleep; /* … until then, how long it sleeps while nothing comes, ns */
    struct futex_fd *wake;  /* NULL: processes cannot wake us */
    uint32_t pool_changes;  /* as of the last look */
    int watch;              /* inotify, for poll(2); -1: there is none */
    uint64_t looked_at;     /* ns: the last look, of which there is one after … */
    uint64_t look_until, look_next;
    struct program **items;
    unsigned n, max;                 /* so many can be recorded: PROGRAMS_MAX */
    unsigned n_passed_over;          /* as of the last look: processes with rings beyond `max` */
    uint32_t main_pid;               /* of the process that was started; 0: not known */
    const char *const *main_command; /* as it was started, ended by NULL, or NULL; borrowed */
    const char *const *filters;      /* as in manifest_source, of each process; borrowed */
    unsigned n_filters;
    const char *main_exit; /* as in manifest_vmm; NULL; borrowed */
    struct clock_samples samples;
    unsigned
        slots_unread; /* of the pool, at the end: their process files are damaged, or they have none */
    struct error
        unread; /* of the last look: rings of a process that is not recorded; code 0: there are none */
    bool changed; /* sources came, or ended, since this was set to false */
    /* Its manifest is written when the first processes were found, before their rings are drained: the trace of a recorder that is
     * killed has them. NULL: it is not. Borrowed. */
    struct recording *recording;
};

/* Notes what the metadata of NATIVE, its trace, say of its clock. */
void program_note_clock(struct program *program, const struct native *native);

/* DIR is the trace's, and is there. -errno with ERROR. */
int programs_open(const char *dir, struct programs *ret_programs, struct error *error);
/* Removes all rings but those that could not be read. */
void programs_close(struct programs *programs);

/* The value of STRATA_TRACE with which a program makes its rings for this recording: BEFORE (NULL: nothing), then what
 * switches on the N PATTERNS, each of which may be several with commas between them. Allocated. NULL: out of memory. */
char *programs_environment(const struct programs *programs, const char *before,
                           const char *const *patterns, unsigned n);

/* Takes what there is, from processes that came too. *RET_SLEEP: for how long (ns) there need not be another call, if
 * `watch` and programs_wakeup_fd() stay silent. What goes wrong with one process is noted with it; the functions succeed. */
int programs_step(struct programs *programs, uint64_t *ret_sleep);
/* Takes all that was committed until now, also by processes that were not known yet, but for rings in overwrite mode. */
void programs_flush(struct programs *programs);
/* Readable when a ring has closed a sub-buffer; good until the next step. -1: none wakes us. */
int programs_wakeup_fd(const struct programs *programs);
/* Takes what there is now, for the last time: also of processes that go on living. */
void programs_finish(struct programs *programs);
/* Looks for processes that came at once, not when it is time to. */
void programs_look(struct programs *programs);
/* How many that were found have not ended. */
unsigned programs_running(const struct programs *programs);

/* Events of processes that could make no rings: how many processes, and events. */
uint64_t programs_no_ring(const struct programs *programs, uint32_t *ret_processes);

/* Their sources, for a manifest: *ret_n of them, in ARENA; what they point to is that, and PROGRAMS. COMPLETE: it
 * is the last time. -ENOMEM. */
int programs_put_sources(const struct programs *programs, bool complete, struct arena *arena,
                         struct manifest_source **ret, unsigned *ret_n);
