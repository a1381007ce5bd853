/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs a command for each snapshot of a trigger: `strata record --then COMMAND`.
 *
 * sh runs the command, with the path of the snapshot as its last argument. One command runs at a time, each in its own
 * session. Its input is /dev/null, and its output goes to the recorder's standard error. The environment has
 *
 *     STRATA_SNAPSHOT       the path
 *     STRATA_TRIGGER        the condition
 *     STRATA_TRIGGER_WHAT   what met the condition
 *
 * Only the next command and the end of the recording wait for it. Not thread-safe. */

#include <signal.h>

#include "record/recorder.h"

/* Limit of snapshots that wait for the command. Further ones are skipped. */
#define TRIGGER_COMMANDS_MAX 16u

struct trigger_command;

/* COMMAND, MASK (the signals that the command blocks), and RECORDER, through which messages are reported, are borrowed.
 * -ENOMEM. */
int trigger_command_new(const char *command, const sigset_t *mask, struct recorder *recorder,
                        struct trigger_command **ret);
/* Kills a running command. */
void trigger_command_free(struct trigger_command *self);

/* Runs the command for a snapshot, now or after the waiting ones. All strings are copied. */
void trigger_command_run(struct trigger_command *self, const char *snapshot, const char *trigger,
                         const char *what);
/* The descriptor to poll; -1: nothing runs. */
int trigger_command_fd(const struct trigger_command *self);
/* Handles the end of a command, and starts the next one. */
void trigger_command_step(struct trigger_command *self);
bool trigger_command_is_idle(const struct trigger_command *self);
