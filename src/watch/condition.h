/* SPDX-License-Identifier: MIT */
#pragma once

/* The conditions of `strata record --on`, which state when something is saved or reported. Their grammar:
 *
 *     [LAYER:][GROUP:]EVENT[{CONDITION}]     an event; GROUP and EVENT with * and ?, CONDITION as in strata-filter(5)
 *     latency [pN] RULE > TIME               a span longer than TIME, also one that has not ended; or the percentile of those
 *                                            that end in a window. RULE: the name of a built-in one, or a rule as in
 *                                            strata-analysis(7). TIME: 50ms, 1.5s; the units are ns, us, ms, s, m and h
 *     exits > Nx                             the rate of VM exits, against the mean of the minute before
 *     exits > N/s
 *     stolen [vcpu] > N% [for TIME]          of a vCPU's time (default: for 1s)
 *     runnable [TASK] > N% [for TIME]        of a thread's time that it waits for a CPU; TASK: a pattern of names, or vcpu
 *     lost [> N]                             events that were lost
 *     qmp:EVENT                              an event of QEMU's monitor
 *     exit [OP STATUS]                       what is recorded has ended; OP: == != < <= > >=. By a signal: 128 + its number
 *     signal NAME                            the recorder gets the signal: USR1 or USR2
 *     at HH:MM[:SS]                          each day, local time
 *
 * The first six are evaluated from the events of a running recording (watch/evaluate.h), the others by its
 * recorders. */

#include "analysis/spans/span_rule.h"
#include "base/arena.h"
#include "base/error.h"

enum watch_kind {
    WATCH_EVENT,
    WATCH_LATENCY,
    WATCH_EXITS,
    WATCH_STOLEN,
    WATCH_RUNNABLE,
    WATCH_LOST,
    /* Without events. */
    WATCH_QMP,
    WATCH_EXIT,
    WATCH_SIGNAL,
    WATCH_AT,
};

enum watch_relation {
    WATCH_ANY, /* no number was given */
    WATCH_EQUAL,
    WATCH_NOT_EQUAL,
    WATCH_LESS,
    WATCH_LESS_EQUAL,
    WATCH_GREATER,
    WATCH_GREATER_EQUAL,
};

struct watch_condition {
    enum watch_kind kind;
    const char *text; /* as it was given, without blanks at its ends */
    union {
        struct {
            const char *pattern;   /* of event_class_matches() */
            const char *condition; /* analysis/condition.h; may be NULL */
        } event;
        struct {
            const struct span_rule *rules; /* all of the same name */
            unsigned n_rules;
            unsigned permille; /* 990 for p99; 0: any span */
            int64_t ns;
        } latency;
        struct {
            double factor; /* 0 if `rate` was given */
            double rate;   /* per second */
        } exits;
        struct {
            const char *task; /* pattern, or NULL for vCPUs */
            unsigned permille;
            int64_t ns; /* length of the stretches whose share is computed */
        } share;        /* stolen, runnable */
        struct {
            uint64_t more_than;
        } lost;
        struct {
            const char *event;
        } qmp;
        struct {
            enum watch_relation relation;
            int status;
        } exit;
        int signal;
        struct {
            unsigned hour, minute, second;
        } at;
    };
};

/* Parses TEXT into ARENA. -EINVAL with ERROR->what, which quotes TEXT; -ENOMEM. */
int watch_condition_parse(const char *text, struct arena *arena, struct watch_condition *ret,
                          struct error *error);

/* True if it is evaluated from events, so that the recording needs a watcher. */
static inline bool watch_condition_needs_events(const struct watch_condition *condition)
{
    return condition->kind < WATCH_QMP;
}

/* True if STATUS fulfils the `exit` CONDITION. */
bool watch_exit_matches(const struct watch_condition *condition, int status);
