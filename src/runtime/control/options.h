/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace options: functions for the rest of the library, and for registration, because options from the environment
 * are read before events are registered. */

#include <stdbool.h>

#include "runtime/writer.h"

struct strata_group;

/* strata_trace_opt_parse() without printing the list of `help`, which the caller does. */
int options_apply(const char *options, bool *ret_help);
/* True if new rings are flight recorders. */
bool options_overwrite(void);

/* Call it when a group was registered. Not under registry_lock(). */
void options_group_came(const struct strata_group *group);
/* At the end of the process: reports names in the environment that never matched an event, and switches
 * all events off except those that the program switches itself. */
void options_at_end(void);

/* The sink of the trace file (strata_trace_file_set()). -EOPNOTSUPP: no event of the program has records. Under the
 * options' lock. */
int options_file_sink(void);
/* Switches on the default trace file unless another output was chosen. Under the options' lock. */
void options_want_trace(void);
/* Call it when the program has chosen the trace file: defaults and file= no longer apply. Under the options' lock. */
void options_file_chosen(void);

/* For fork(), so that the child has consistent options. Locked before the pass lock. */
void options_lock(void);
void options_unlock(void);
