/* SPDX-License-Identifier: MIT */
#pragma once

/* Where lines of text go: standard error or a file. And the kernel's ftrace buffer. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/format.h"

/* The number of the calling thread, asked for once. Safe in signal handlers. */
uint32_t thread_number(void);
/* In a child of fork(): it has another. */
void thread_number_forget(void);

/* Lines go to PATH from now on, appended; NULL: to standard error. Negative errno. */
int log_set_file(const char *path);
/* Whether "PID@SEC.USEC:" stands in front. Default: yes. */
void log_set_stamps(bool on);
bool log_stamps(void);
int log_fd(void);

/* "PID@SEC.USEC:" of a thread by number and a time in nanoseconds. */
void line_put_stamp(struct line *line, uint32_t number, uint64_t realtime_ns);
/* Ends a line of which STRATA_LOG_MAX bytes at most are written: a newline, and "..." before it when
 * something was cut. The line's end must be STRATA_LOG_TAIL before the end of its memory. */
#define STRATA_LOG_TAIL 4
void line_close(struct line *line);

/* Lines for ftrace go to the marker at PATH, or in the folder PATH (tracefs, or an instance of it);
 * NULL: where tracefs is mounted. Opens it; negative errno. */
int ftrace_set_marker(const char *path);
/* The open marker, opened at the first call; negative errno when there is none. */
int ftrace_fd(void);
