/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of triggers: it records nothing, but has the control server (record/control_server.h) save a snapshot when a condition
 * is met, which events of the recorders, a signal, the time of day or a process that watches events (record/watch_process.h)
 * report.
 *
 * A snapshot is taken `after_ns` after its trigger, or at the end of the recording where that comes first: then with all that the
 * other recorders still read. It is named by the trigger's time and condition, and its manifest says why it was taken. What is
 * met meanwhile, again or otherwise, is counted in it. Snapshots are limited in number (record/trigger_limits.h; the end of what
 * is recorded is saved in any case) and in size (record/snapshot_quota.h). What saves none is counted, and reported once for each
 * condition, and in all at the end.
 *
 * It is added first, and is a service: it stays until the others have ended, and what they met is saved. */

#include "record/trigger.h"
#include "record/watch_process.h"

#define TRIGGERS_MAX 64u

/* All borrowed, for as long as the recorder is there. */
struct trigger_recorder_settings {
    const struct trigger *triggers;
    unsigned n; /* at most TRIGGERS_MAX */
    uint64_t after_ns;
    unsigned per_hour;       /* 1 to TRIGGER_PER_HOUR_MAX */
    uint64_t size;           /* of the snapshots on the disk */
    const char *command;     /* record/trigger_command.h; NULL: none */
    struct recorder *server; /* of the same recording, added after this one */
    /* Watches events for triggers of the kind TRIGGER_WATCHED; NULL: there are none. */
    watch_process_function *watch;
    void *watch_userdata;
    /* Gets its lines that are not about triggers, as watch_process_handler.other; NULL: nothing does. */
    void (*other_line)(void *userdata, const char *line, size_t len);
    void *other_line_userdata;
};

/* Blocks the signals that triggers name, so it is to be called before any thread is started. -errno with ERROR. */
int trigger_recorder_new(const struct trigger_recorder_settings *settings, struct recorder **ret,
                         struct error *error);

struct trigger_stats {
    uint64_t met;        /* conditions, how often */
    uint64_t saved;      /* snapshots */
    uint64_t failed;     /* … that could not be saved */
    uint64_t suppressed; /* how often a condition was met, and the limits let it save none */
};

/* False: RECORDER is another one. */
bool trigger_recorder_stats(const struct recorder *recorder, struct trigger_stats *ret);
