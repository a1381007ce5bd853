/* SPDX-License-Identifier: MIT */
#pragma once

/* Whose trace it is and when it was recorded, for exports that hold the traces of many hosts. */

#include "tables/calendar.h"
#include "trace/trace.h"

#define EXPORT_HOST_SIZE 256
/* Of a trace: 16 hexadecimal digits. */
#define EXPORT_TRACE_ID_SIZE 17

/* The host that TRACE was recorded on, or GIVEN if it is not NULL. Prints why there is none, or why its times cannot be
 * compared with those of others. An exit status. */
int export_find_host(const struct trace *trace, const char *given, char ret_host[EXPORT_HOST_SIZE]);

/* Whether a format with TRAITS (enum export_trait) can hold the times of TRACE. Prints why not, and what other readers make of them. An exit
 * status. */
int export_check_clock(const struct trace *trace, unsigned traits);

/* The first digits of trace_identity(); "" if the trace has none: a pipe can be read once only. */
void export_find_trace_id(char *const *paths, unsigned n, char ret_id[EXPORT_TRACE_ID_SIZE]);

/* When TRACE began and ended by the time of day, where times are of the host's clock; else when the file PATH was last
 * written. */
void export_find_calendar(const struct trace *trace, const char *path,
                          struct calendar *ret_calendar);
