/* SPDX-License-Identifier: MIT */
#pragma once

/* What a host has asked to be traced: an instance of tracefs with its events, filters, clock and buffers,
 * and the readers of it. It disappears without a trace. One thread uses it (the sender's); the readers
 * have their own. */

#include "agent/guest_clock.h"
#include "agent/readers.h"
#include "agent/tracefs.h"
#include "proto/message.h"

struct tracer_event {
    char *name;         /* "sched:sched_switch" */
    const char *system; /* in `name`, `system_len` bytes */
    size_t system_len;
    char *filter; /* or NULL */
    bool wanted, enabled;
};

struct tracer {
    const struct tracefs *tracefs;
    const struct agent_log *log;
    struct wakeup *sender;
    /* Of its readers, see there; set behind tracer_init(). */
    bool (*carry)(void *carrier, struct reader *reader);
    bool (*splices)(void *carrier, struct reader *reader);
    bool (*pass)(void *carrier, struct reader *reader, unsigned n_pages);
    void *carrier;
    const _Atomic bool *cancel;  /* setting up is to stop */
    char instance[64];           /* "": there is none */
    int dir;                     /* of the instance, or -1 */
    struct tracer_event *events; /* all that the kernel has */
    uint32_t n_events;
    uint32_t n_enabled;
    struct guest_clock clock;
    struct readers *readers; /* NULL: there are none yet */
    struct cpu_set refused;  /* those whose reader could not be made, which was told */
    bool started;
};

void tracer_init(struct tracer *tracer, const struct tracefs *tracefs, const struct agent_log *log,
                 struct wakeup *sender, const _Atomic bool *cancel);

/* Makes the instance as SETUP (decoded) asks; QUEUE_BYTES is the most that a queue may hold. PID: only what
 * happens in the threads of that process is recorded; 0: all. -ECANCELED: `cancel` became
 * true. On failure nothing is left of it, ERROR says what went wrong and *RET_HINT what to do (""). */
int tracer_set_up(struct tracer *tracer, struct proto_setup setup, size_t queue_bytes, pid_t pid,
                  struct error *error, const char **ret_hint);
/* Removes all. Also the clock is forgotten. When `cancel` is true the kernel is not waited for longer than
 * a moment; it finishes what is left behind our back. */
void tracer_clear(struct tracer *tracer);

static inline bool tracer_is_set_up(const struct tracer *tracer)
{
    return tracer->readers != NULL;
}

int tracer_start(struct tracer *tracer);
/* Nothing is recorded from here on; the readers drain what there is. */
int tracer_stop(struct tracer *tracer);

/* CPUs that came and went. */
void tracer_follow(struct tracer *tracer);
/* The counts of reader I. */
void tracer_status(struct tracer *tracer, unsigned i, struct proto_status_cpu *ret_status);
