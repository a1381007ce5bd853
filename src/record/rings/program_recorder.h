/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a program that it starts, and of those that the program forks and executes, if they link libstrata:
 * record/rings/programs.h. It is the primary recorder; it ends when all of them have ended. The first signal is the
 * program's, which then ends as it likes; with the second, and when --time is up, it gets SIGTERM; 5 seconds later, or with
 * another signal, SIGKILL. */

#include "base/child.h"
#include "record/recorder.h"
#include "record/rings/programs.h"

/* All borrowed, for as long as the recorder is there. */
struct program_recorder_settings {
    const char *const *command;  /* ended by NULL */
    const char *const *patterns; /* of events to switch on */
    unsigned n_patterns;
    const char *const *filters; /* of these, the conditions, as in manifest_source */
    unsigned n_filters;
    const char *trace; /* $STRATA_TRACE or NULL */
};

/* -ENOMEM. */
int program_recorder_new(const struct program_recorder_settings *settings, struct recorder **ret);
const struct programs *program_recorder_programs(const struct recorder *recorder);
const struct child *program_recorder_child(const struct recorder *recorder);
/* The negative errno of executing the program; 0: it runs, or was not tried. */
int program_recorder_child_error(const struct recorder *recorder);

/* Of another recorder that has `programs`, opened and with `may_sleep`: what they wait for. */
void programs_poll(const struct programs *programs, struct recorder_wait *wait);
