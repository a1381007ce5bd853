/* SPDX-License-Identifier: MIT */
#pragma once

/* The command that is run for each snapshot of a trigger: `strata record --then COMMAND`.
 *
 * It is run by sh, with the path of the snapshot as its last argument, one at a time, each in a session of its own. Its input
 * is /dev/null, its output goes to the standard error of the recorder. The environment has
 *
 *     STRATA_SNAPSHOT       the path
 *     STRATA_TRIGGER        the condition
 *     STRATA_TRIGGER_WHAT   what fulfilled it
 *
 * Nothing waits for it but the next one, and the end of the recording. Not thread-safe. */

#include <signal.h>

#include "record/recorder.h"

/* As many snapshots wait for the command; further ones are passed over. */
#define TRIGGER_COMMANDS_MAX 16u

struct trigger_command;

/* COMMAND, and MASK, the signals that it has blocked, are borrowed. RECORDER, whose messages it uses, too. -ENOMEM. */
int trigger_command_new(const char *command, const sigset_t *mask, struct recorder *recorder,
                        struct trigger_command **ret);
/* Kills a command that runs. */
void trigger_command_free(struct trigger_command *self);

/* Runs it for a snapshot, now or when those before have ended. All strings are copied. */
void trigger_command_run(struct trigger_command *self, const char *snapshot, const char *trigger,
                         const char *what);
/* What to poll; -1: nothing runs. */
int trigger_command_fd(const struct trigger_command *self);
/* Notices that it has ended, and starts the next one. */
void trigger_command_step(struct trigger_command *self);
bool trigger_command_is_idle(const struct trigger_command *self);
