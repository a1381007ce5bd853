/* SPDX-License-Identifier: MIT */
#pragma once

/* The options: what else of the library uses them, and what the registration tells them, as those from
 * the environment are read before any event is there. */

#include <stdbool.h>

#include "runtime/writer.h"

struct strata_group;

/* strata_trace_opt_parse(), but for the list that `help` asks for: that is left to the caller. */
int options_apply(const char *options, bool *ret_help);
/* Whether rings that are made now are flight recorders. */
bool options_overwrite(void);

/* A group was registered. Not under registry_lock(). */
void options_group_came(const struct strata_group *group);
/* The process ends: says which names in the environment never were an event's. Switches all events off, but for
 * those whose states are the program's. */
void options_at_end(void);

/* Which sink is the trace file (strata_trace_file_set()). -EOPNOTSUPP: the program has no events whose
 * records could be in a file. Under the options' lock. */
int options_file_sink(void);
/* There is to be a trace, at its default place where none was chosen. Under the options' lock. */
void options_want_trace(void);
/* Somebody chose where the trace file is: defaults and file= are over. Under the options' lock. */
void options_file_chosen(void);

/* Around fork(), so that the child finds them whole. Before the pass lock. */
void options_lock(void);
void options_unlock(void);
