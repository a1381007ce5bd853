/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the host of a trace and its time of recording, for exports that hold the traces of many hosts. */

#include "tables/calendar.h"
#include "trace/trace.h"

#define EXPORT_HOST_SIZE 256
/* 16 hexadecimal digits and a NUL */
#define EXPORT_TRACE_ID_SIZE 17

/* Finds the host on which TRACE was recorded, or takes GIVEN unless it is NULL. Prints why there is none, or why the
 * trace's times cannot be compared with other hosts'. An exit status. */
int export_find_host(const struct trace *trace, const char *given, char ret_host[EXPORT_HOST_SIZE]);

/* Checks that a format with TRAITS (enum export_trait) can hold the times of TRACE. Prints why not, or how other
 * readers misinterpret them. An exit status. */
int export_check_clock(const struct trace *trace, unsigned traits);

/* Gets the first digits of trace_identity(), or "" if the trace has none, because it is a pipe and can be read only
 * once. */
void export_find_trace_id(char *const *paths, unsigned n, char ret_id[EXPORT_TRACE_ID_SIZE]);

/* Finds when TRACE began and ended by the time of day, if its times are the host's; otherwise when the file PATH was
 * last written. */
void export_find_calendar(const struct trace *trace, const char *path,
                          struct calendar *ret_calendar);
