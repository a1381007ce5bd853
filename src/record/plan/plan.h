/* SPDX-License-Identifier: MIT */
#pragma once

/* The plan of a recording: what is recorded, which events, limits and triggers.
 *
 *     wishes     the command line and the files of --config set the members that are not under "made" (cmd/record/)
 *     make       record_plan_make() sorts them, parses the conditions, and refuses what contradicts itself. It looks at nothing
 *                outside of the plan
 *     subject    record_subject_find() finds the process or the program that is meant (record/plan/subject.h)
 *     recorders  get their part of it as settings: record/plan/kernel.h, guests.h, qemu.h, conditions.h
 *
 * Functions return a negative errno with ERROR; -RECORD_MISUSE: what was asked for is wrong, and not what was found. Strings
 * are borrowed. Not thread-safe. */

#include <errno.h>
#include <sys/types.h>

#include "analysis/required_events.h"
#include "base/arena.h"
#include "base/strings.h"
#include "base/text.h"
#include "record/plan/recorder_type.h"
#include "record/retention.h"
#include "record/stop_signals.h"

/* A usage error. */
#define RECORD_MISUSE EBADR
#define record_misuse(error, ...) error_set(error, -RECORD_MISUSE, NULL, __VA_ARGS__)

/* What the recording is about. The options show one of the first four, and the machine what that is (record/plan/subject.h). */
enum record_kind {
    RECORD_BESIDE,   /* no process: guests, this machine's kernel, Xen, per-CPU buffers */
    RECORD_COMMAND,  /* is started: RECORD_PROGRAM, RECORD_QEMU */
    RECORD_ATTACHED, /* runs already: RECORD_RINGS, RECORD_RUNNING_QEMU, RECORD_VMMS */
    RECORD_LIBVIRT,  /* a domain: RECORD_RUNNING_QEMU */
    RECORD_PROGRAM,
    RECORD_QEMU,
    RECORD_RINGS, /* of a program that was started with writer=none */
    RECORD_RUNNING_QEMU,
    RECORD_VMMS, /* monitors of KVM's virtual machines that have no events of their own */
};

/* Events of one layer: as many patterns as conditions, "" where there is none. */
struct plan_event_list {
    struct strings patterns, conditions;
};

/* --event, sorted by whose the events are (record/plan/events.h). */
struct plan_events {
    struct plan_event_list process; /* QEMU or the program */
    struct plan_event_list buffers; /* Xen, per-CPU buffers */
    struct plan_event_list guest, host;
    struct strings
        program; /* made of `process`, as libstrata has them in STRATA_TRACE: "PATTERN", "PATTERN:CONDITION" */
    struct strings
        filters; /* the same as the manifest has them, "PATTERN=CONDITION"; without a condition: not */
    unsigned process_layers; /* those of `process` that were named, bits: 1 << enum layer */
    struct arena arena;
};

/* Kernels of guests. */
struct plan_guests {
    struct strings words;     /* of --guest; "": the guest of the recorded QEMU */
    struct strings endpoints; /* made: of `words`, those that are one */
    struct strings kvms;
    const char *key, *kvm_files;
    const char *clock;
    uint64_t queue, keep, level, cpus;
    const char *tracefs;
    bool kallsyms;
};

enum plan_live_format { PLAN_LIVE_TEXT, PLAN_LIVE_JSON, PLAN_LIVE_CSV };

struct plan_live {
    bool on, spreadsheet;
    unsigned format; /* enum plan_live_format */
};

struct plan_metrics {
    const char *listen; /* as base/address.h has it; NULL: not given */
    const char *file;   /* NULL: not given */
    uint64_t period;    /* ns; 0: no analyses */
};

struct plan_triggers {
    struct strings conditions; /* --on */
    uint64_t after;            /* ns */
    uint64_t per_hour;
    uint64_t size;       /* 0: as large as is usual */
    const char *command; /* NULL: none */
    /* Made. */
    struct arena arena;
    struct watch_condition *items; /* of `conditions` */
    struct trigger *triggers;      /* … */
    bool needs_events;             /* one of them */
};

/* What functions below may use of the environment. */
struct plan_environment {
    const char *path;             /* $PATH or NULL */
    const char *runtime;          /* $XDG_RUNTIME_DIR or NULL */
    const char *trace;            /* $STRATA_TRACE or NULL */
    unsigned passes;              /* PRINTABLE_...: what of QEMU's log reaches the terminal */
    struct stop_signals *signals; /* which end what is asked of a QEMU; NULL: none */
    void (*report)(void *userdata,
                   const char *text); /* tells the user a sentence; NULL: nobody listens */
    void *userdata;
};

/* --min-free was not given. */
#define RECORD_MIN_FREE_DEFAULT UINT64_MAX

#define RECORD_PLAN_DEFAULT                                                                    \
    {                                                                                          \
        .verb = "record", .min_free = RECORD_MIN_FREE_DEFAULT, .guests = {.keep = 60},         \
        .triggers = {.after = 2000000000, .per_hour = 12}, .metrics = {.period = 10000000000}, \
    }

struct record_plan {
    const char *verb;              /* "record", or that which is a spelling of it */
    const char *output;            /* NULL: not given */
    uint64_t time;                 /* ns; 0: until it ends or is stopped */
    uint64_t max_size;             /* bytes; 0: any. record_plan_max_size() */
    uint64_t min_free;             /* on the disk, bytes; 0: any. record_plan_min_free() */
    struct retention_limit flight; /* --flight: what is kept; 0: everything */
    struct strings domains;        /* --libvirt: one at most */
    const char *libvirt_uri;       /* the daemon that has it; NULL */
    bool attach, keep, strict;
    bool restarts;     /* what the directory has is kept as a snapshot */
    bool host_threads; /* the host's kernel only while threads of what is recorded run */
    bool host;         /* this machine's kernel */
    const char *qemu;  /* that the command starts in its own way; NULL: it is to be seen */
    /* --event, each as event/pattern.h has it, or several with commas between. Names are those of the layer; Xen's, words of
     * schema/xen/event_mask.h. None of a layer: all, or what is usual there. */
    struct strings events;
    const char *for_analyses;              /* --for: "exits,sched"; NULL: not given */
    uint64_t buffer_size;                  /* of each CPU, bytes; 0: as it is, or what is usual */
    const struct plan_recorder *recorders; /* borrowed; NULL: none can be asked for */
    struct plan_guests guests;
    struct plan_live live;
    struct plan_metrics metrics;
    struct plan_triggers triggers;
    struct plan_environment environment;
    /* ---- Made ---- */
    enum record_kind kind; /* one of the first four */
    char **words;          /* the operands, then the command, ended by NULL */
    int n;                 /* operands */
    bool guest;            /* the kernel of the recorded QEMU's guest */
    struct plan_events chosen;
    struct needed_events needs; /* the events of `for_analyses` */
};

/* WORDS: N operands, then the N_COMMAND words of a command, and NULL; N_COMMAND -1: none is given. */
int record_plan_make(struct record_plan *plan, char **words, int n, int n_command,
                     struct error *error);
/* Puts what the user leaves to strata, as lines of comments of a configuration file: after record_plan_make(). */
void record_plan_print(const struct record_plan *plan, struct text *out);
void record_plan_done(struct record_plan *plan);

/* Whether only a part of what is recorded is kept. */
bool record_plan_has_flight(const struct record_plan *plan);
/* Of each source, bytes: what loses its beginning may become as long as it likes. 0: any. */
uint64_t record_plan_max_size(const struct record_plan *plan);
/* What was given; else some where a hypervisor that writes without end could fill the disk. */
uint64_t record_plan_min_free(const struct record_plan *plan);
/* Whether a kernel may hold what it records for seconds, or until it is asked: what is kept is looked at later, and is far
 * longer than that. */
bool record_plan_may_hold(const struct record_plan *plan);
/* "5m,2G", as --flight has it, into BUF; "": there is no limit. Returns BUF. */
#define RECORD_PLAN_LIMIT_MAX 48
const char *record_plan_limit_text(const struct retention_limit *limit,
                                   char buf[static RECORD_PLAN_LIMIT_MAX]);
/* --guest without an endpoint, where COMMAND (NULL: nothing) is recorded, and no QEMU. -RECORD_MISUSE. */
int record_plan_refuse_guest(const char *command, struct error *error);
