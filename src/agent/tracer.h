/* SPDX-License-Identifier: MIT */
#pragma once

/* Traces what a host has requested: a tracefs instance with its events, filters, clock and buffers, and the readers of
 * it. The instance is removed at the end. Used by one thread (the sender); the readers have their own threads. */

#include "agent/readers.h"
#include "agent/trace_clock.h"
#include "agent/tracefs.h"
#include "proto/message.h"

struct tracer_event {
    char *name;         /* "sched:sched_switch" */
    const char *system; /* in `name`; `system_len` bytes */
    size_t system_len;
    char *filter; /* or NULL */
    bool wanted, enabled;
};

struct tracer {
    const struct tracefs *tracefs;
    const struct agent_log *log;
    struct wakeup *sender;
    const struct page_sink *sink; /* for its readers; set after tracer_init() */
    const _Atomic bool *cancel;   /* true: stop setting up */
    char instance[64];            /* "": none */
    int dir;                      /* of the instance, locked; -1: none */
    struct tracer_event *events;  /* all events of the kernel */
    uint32_t n_events;
    /* events enabled by this tracer; the kernel may leave some events of a whole system off */
    uint32_t n_enabled;
    uint32_t n_on; /* events that were on after enabling */
    struct guest_clock clock;
    struct readers *readers;    /* NULL: not set up */
    struct cpu_set failed_cpus; /* CPUs whose reader could not be created; already reported */
    bool started;
    bool is_disturbed;      /* see tracer_stop() */
    bool is_disturbed_told; /* the host was told that the tracing is disturbed */
};

void tracer_init(struct tracer *tracer, const struct tracefs *tracefs, const struct agent_log *log,
                 struct wakeup *sender, const _Atomic bool *cancel);

/* Creates the instance that SETUP (decoded) describes. QUEUE_BYTES: the largest queue per CPU. PID:
 * record only the threads of that process; 0: all. -ECANCELED: `cancel` became true. On failure
 * everything is undone, ERROR says what is wrong and *RET_HINT what to do ("": nothing). */
int tracer_set_up(struct tracer *tracer, struct proto_setup setup, size_t queue_bytes, pid_t pid,
                  struct error *error, const char **ret_hint);
/* Removes everything, including the clock. If `cancel` is true, waits for the kernel at most REMOVE_MS;
 * the kernel then completes the removal in the background. */
void tracer_clear(struct tracer *tracer);

static inline bool tracer_is_set_up(const struct tracer *tracer)
{
    return tracer->readers != NULL;
}

int tracer_start(struct tracer *tracer);
/* Stops recording; the readers drain the rings. Sets `is_disturbed` if other programs have switched off the tracing or
 * events, so that an unknown number of events is missing. */
int tracer_stop(struct tracer *tracer);

/* Makes the readers read the content of the rings; recording continues. Sets `is_disturbed` as tracer_stop(). */
void tracer_flush(struct tracer *tracer);

/* Handles CPUs that went online or offline. */
void tracer_update_cpus(struct tracer *tracer);
/* The statistics of reader I. */
void tracer_status(struct tracer *tracer, unsigned i, struct proto_status_cpu *ret_status);
