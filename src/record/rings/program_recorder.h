/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a program that it starts, and of programs that this program forks and executes, if they link
 * libstrata (record/rings/programs.h). It is the primary recorder, and ends when all of them have ended. The first
 * signal is left to the program. With the second signal, and at the end of --time, the program gets SIGTERM; 5 seconds
 * later, or with another signal, SIGKILL. */

#include "base/child.h"
#include "record/recorder.h"
#include "record/rings/programs.h"

/* All pointers are borrowed for the life of the recorder. */
struct program_recorder_settings {
    const char *const *command;  /* ended by NULL */
    const char *const *patterns; /* of events to switch on */
    unsigned n_patterns;
    const char *const *filters; /* conditions of these events, as in manifest_source */
    unsigned n_filters;
    const char *trace; /* $STRATA_TRACE or NULL */
};

/* -ENOMEM. */
int program_recorder_new(const struct program_recorder_settings *settings, struct recorder **ret);
const struct programs *program_recorder_programs(const struct recorder *recorder);
const struct child *program_recorder_child(const struct recorder *recorder);
/* The negative errno of executing the program; 0: it was executed, or not tried yet. */
int program_recorder_child_error(const struct recorder *recorder);

/* For another recorder that has opened PROGRAMS with `may_sleep`: adds what PROGRAMS waits for. */
void programs_poll(const struct programs *programs, struct recorder_wait *wait);
