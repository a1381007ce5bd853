/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace options: what the rest of the library uses of them, and what registration passes to them,
 * because the options from the environment are read before events are registered. */

#include <stdbool.h>

#include "runtime/writer.h"

struct strata_group;

/* strata_trace_opt_parse(), but for the list that `help` asks for: that is left to the caller. */
int options_apply(const char *options, bool *ret_help);
/* Whether rings that are made now are flight recorders. */
bool options_overwrite(void);

/* A group was registered. Not under registry_lock(). */
void options_group_came(const struct strata_group *group);
/* At the end of the process: reports names in the environment that never matched an event, and switches
 * all events off except those that the program switches itself. */
void options_at_end(void);

/* The sink that is the trace file (strata_trace_file_set()). -EOPNOTSUPP: no event of the program has
 * records. Under the options' lock. */
int options_file_sink(void);
/* Switches on the default trace file unless another output was chosen. Under the options' lock. */
void options_want_trace(void);
/* The trace file was chosen by the program: the defaults and file= no longer apply. Under the options'
 * lock. */
void options_file_chosen(void);

/* Around fork(), so that the child finds them whole. Before the pass lock. */
void options_lock(void);
void options_unlock(void);
