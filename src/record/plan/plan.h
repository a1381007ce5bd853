/* SPDX-License-Identifier: MIT */
#pragma once

/* The plan of a recording: what is recorded, which events, limits and triggers. It is built in these steps:
 *
 *     wishes     the command line and the files of --config set the members that are not under "made" (cmd/record/)
 *     make       record_plan_make() sorts them, parses the conditions, and refuses contradictions. It uses only the
 *                plan
 *     subject    record_subject_find() finds the process or program (record/plan/subject.h)
 *     recorders  get their part of the plan as settings: record/plan/kernel.h, guests.h, qemu.h, conditions.h
 *
 * Functions return a negative errno with ERROR. -RECORD_MISUSE: the request is wrong, not the state of the machine.
 * Strings are borrowed. Not thread-safe. */

#include <errno.h>
#include <sys/types.h>

#include "analysis/event_sets.h"
#include "base/arena.h"
#include "base/strings.h"
#include "base/text.h"
#include "record/plan/recorder_type.h"
#include "record/retention.h"
#include "record/stop_signals.h"

/* A usage error. */
#define RECORD_MISUSE EBADR
#define record_misuse(error, ...) error_set(error, -RECORD_MISUSE, NULL, __VA_ARGS__)

/* What the recording is about. The options determine one of the first four kinds; record/plan/subject.h finds the kind
 * that it stands for on this machine. */
enum record_kind {
    /* not about a process: guests, this machine's kernel, Xen, per-CPU buffers */
    RECORD_BESIDE,
    RECORD_COMMAND,  /* a command to start: RECORD_PROGRAM, RECORD_QEMU */
    RECORD_ATTACHED, /* a running process: RECORD_RINGS, RECORD_RUNNING_QEMU, RECORD_VMMS */
    RECORD_LIBVIRT,  /* a libvirt domain: RECORD_RUNNING_QEMU */
    RECORD_PROGRAM,
    RECORD_QEMU,
    RECORD_RINGS, /* a running program that was started with writer=none */
    RECORD_RUNNING_QEMU,
    /* processes that run KVM's virtual machines and have no events of their own */
    RECORD_VMMS,
};

/* Events of one layer: a condition for each pattern, or "". */
struct plan_event_list {
    struct strings patterns, conditions;
};

/* The events of --event, sorted by owner (record/plan/event_options.h). */
struct plan_events {
    struct plan_event_list process; /* QEMU or the program */
    struct plan_event_list buffers; /* Xen, per-CPU buffers */
    struct plan_event_list guest, host;
    /* `process` in the form of libstrata's STRATA_TRACE: "PATTERN", "PATTERN:CONDITION". */
    struct strings program;
    /* `process` in the form of the manifest: "PATTERN=CONDITION"; only events with a condition. */
    struct strings filters;
    unsigned process_layers; /* layers named for `process`, bits: 1 << enum layer */
    struct arena arena;
};

/* The kernels of guests. */
struct plan_guests {
    struct strings words;     /* values of --guest; "": the guest of the recorded QEMU */
    struct strings endpoints; /* made: the endpoints in `words` */
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
    const char *listen; /* in the form of base/address.h; NULL: not given */
    const char *file;   /* NULL: not given */
    uint64_t period;    /* ns; 0: no analyses */
};

struct plan_triggers {
    struct strings conditions; /* --on */
    uint64_t after;            /* ns */
    uint64_t per_hour;
    uint64_t size;       /* bytes; 0: the default */
    const char *command; /* NULL: none */
    /* ---- Made ---- */
    struct arena arena;
    struct watch_condition *items; /* parsed `conditions` */
    struct trigger *triggers;      /* triggers of `items` */
    bool needs_events;             /* one of the conditions needs events of the trace */
};

/* The environment for the functions below. */
struct plan_environment {
    const char *path;    /* $PATH or NULL */
    const char *runtime; /* $XDG_RUNTIME_DIR or NULL */
    const char *trace;   /* $STRATA_TRACE or NULL */
    unsigned passes;     /* PRINTABLE_...: which characters of QEMU's log reach the terminal */
    struct stop_signals *signals; /* they end requests to a QEMU; NULL: none */
    void (*report)(void *userdata,
                   /* Prints a sentence to the user; NULL: not printed. */
                   const char *text);
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
    const char *verb;   /* "record", or a verb that is another spelling of it */
    const char *output; /* NULL: not given */
    uint64_t time;      /* ns; 0: no limit */
    uint64_t max_size;  /* bytes; 0: no limit; see record_plan_max_size() */
    uint64_t min_free;  /* bytes free on the disk; 0: no limit; see record_plan_min_free() */
    struct retention_limit flight; /* --flight: limits of what is kept; 0: no limit */
    struct strings domains;        /* --libvirt: at most one */
    const char *libvirt_uri;       /* URI of the domain's daemon; NULL: not given */
    bool attach, keep, strict;
    bool restarts;     /* existing content of the directory is kept as a snapshot */
    bool host_threads; /* record the host's kernel only while recorded threads run */
    bool host;         /* record this machine's kernel */
    const char *qemu;  /* the QEMU that the command starts in its own way; NULL: detected */
    /* --event: patterns in the form of event/pattern.h, or several with commas between. Names are event names of the
     * layer; for Xen, words of schema/xen/event_mask.h. Without patterns for a layer, all of its events or its default
     * events are recorded. */
    struct strings events;
    const char *for_analyses;              /* --for: "exits,sched"; NULL: not given */
    uint64_t buffer_size;                  /* of each CPU, bytes; 0: unchanged, or the default */
    const struct plan_recorder *recorders; /* borrowed; NULL: no recorder types */
    struct plan_guests guests;
    struct plan_live live;
    struct plan_metrics metrics;
    struct plan_triggers triggers;
    struct plan_environment environment;
    /* ---- Made ---- */
    enum record_kind kind; /* one of the first four kinds */
    char **words;          /* the operands, then the command, ended by NULL */
    int n;                 /* number of operands */
    bool guest;            /* record the kernel of the recorded QEMU's guest */
    struct plan_events chosen;
    struct needed_events needs; /* the events of `for_analyses` */
};

/* WORDS: N operands, then the N_COMMAND words of a command, and NULL. N_COMMAND -1: no command was given. */
int record_plan_make(struct record_plan *plan, char **words, int n, int n_command,
                     struct error *error);
/* Writes the defaults that strata has chosen to OUT, as comment lines of a configuration file. Call it after
 * record_plan_make(). */
void record_plan_print(const struct record_plan *plan, struct text *out);
void record_plan_done(struct record_plan *plan);

/* True if only a part of the recorded data is kept. */
bool record_plan_has_flight(const struct record_plan *plan);
/* The limit of each source in bytes; 0: no limit. A source whose beginning is released has no limit. */
uint64_t record_plan_max_size(const struct record_plan *plan);
/* The given value, or a default if a hypervisor that writes without end could fill the disk. */
uint64_t record_plan_min_free(const struct record_plan *plan);
/* True if a kernel may hold recorded data back for seconds, or until it is asked: if the kept time is much longer than
 * that and is only looked at later. */
bool record_plan_may_hold(const struct record_plan *plan);
/* Writes LIMIT in the form of --flight ("5m,2G") to BUF; "": no limit. Returns BUF. */
#define RECORD_PLAN_LIMIT_MAX 48
const char *record_plan_limit_text(const struct retention_limit *limit,
                                   char buf[static RECORD_PLAN_LIMIT_MAX]);
/* Refuses --guest without an endpoint if COMMAND (NULL: nothing) is recorded and is not a QEMU. -RECORD_MISUSE. */
int record_plan_refuse_guest(const char *command, struct error *error);
