/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of triggers: when a condition is met, it asks the control server (record/control_server.h) to save a
 * snapshot. Conditions are met by events of the recorders, a signal, the time of day, or a process that watches events
 * (record/watch_process.h). It records nothing itself.
 *
 * A snapshot is taken `after_ns` after its trigger, or at the end of the recording if that comes first; it then
 * includes everything that the other recorders still read. Its name has the trigger's time and condition, and its
 * manifest says why it was taken. Conditions that are met in the meantime are counted in it. Snapshots are limited in
 * number (record/trigger_limits.h) and in size (record/snapshot_quota.h). The end of the recorded process is saved in
 * any case. A met condition that saves no snapshot is counted, and reported once for each condition and in total at the
 * end.
 *
 * It is added first, and is a service: it stays until the others have ended and the conditions that they met are
 * saved. */

#include "record/trigger.h"
#include "record/watch_process.h"

#define TRIGGERS_MAX 64u

/* All pointers are borrowed for the life of the recorder. */
struct trigger_recorder_settings {
    const struct trigger *triggers;
    unsigned n; /* at most TRIGGERS_MAX */
    uint64_t after_ns;
    unsigned per_hour;   /* 1 to TRIGGER_PER_HOUR_MAX */
    uint64_t size;       /* limit of the snapshots on the disk, bytes */
    const char *command; /* record/trigger_command.h; NULL: none */
    /* the control server of the recording, added after this recorder */
    struct recorder *server;
    /* Watches events for triggers of the kind TRIGGER_WATCHED; NULL: none. */
    watch_process_function *watch;
    void *watch_userdata;
    /* Gets the lines of that process that are not about triggers, like watch_process_handler.other; may be NULL. */
    void (*other_line)(void *userdata, const char *line, size_t len);
    void *other_line_userdata;
};

/* Blocks the signals that triggers name, so call it before any thread is started. -errno with ERROR. */
int trigger_recorder_new(const struct trigger_recorder_settings *settings, struct recorder **ret,
                         struct error *error);

struct trigger_stats {
    uint64_t met;        /* how often conditions were met */
    uint64_t saved;      /* snapshots */
    uint64_t failed;     /* snapshots that could not be saved */
    uint64_t suppressed; /* how often a condition was met but the limits forbade a snapshot */
};

/* Returns false if RECORDER is not a recorder of triggers. */
bool trigger_recorder_stats(const struct recorder *recorder, struct trigger_stats *ret);
