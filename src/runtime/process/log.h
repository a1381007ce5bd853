/* SPDX-License-Identifier: MIT */
#pragma once

/* Where lines of text go: standard error or a file. And the kernel's ftrace buffer. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/format.h"

/* Standard error is what it is now. What a program opens under that number later may be its data: lines
 * go there only after this was called once more. It is called before main(), too. */
void log_note_standard_error(void);

/* Lines go to PATH from now on, appended; NULL: to what standard error is now. Negative errno. */
int log_set_file(const char *path);
/* Whether a file of log_set_file() is open, or was before fork(). */
bool log_has_file(void);
/* The last line that was written is not whole, and stays so: before what is written next it gets the end of a line that was
 * cut. Any context. */
void log_note_torn(void);
/* Writes into LINE that N events were dropped. */
void line_put_dropped(struct line *line, uint64_t n);
/* Removes the last N bytes of the file, which were just written. False: not possible. */
bool log_cut(size_t n);
/* Writes what the log file accepts now, without waiting. Returns the number of bytes; negative errno,
 * -EAGAIN: none now. Any context. */
ssize_t log_write(const char *text, size_t len);
/* log_write() writes up to this many bytes as a whole or not at all. */
size_t log_whole(void);
/* Waits up to MS milliseconds until it may accept more. */
void log_wait(unsigned ms);
/* As log_write(), to standard error, as the program had it when it began or log_set_file() was called. */
ssize_t standard_error_write(const char *text, size_t len);
/* Whether lines begin with "PID@SEC.USEC:". Default: yes. */
void log_set_stamps(bool on);
bool log_stamps(void);

/* "PID@SEC.USEC:" of a thread by number and a time in nanoseconds. */
void line_put_stamp(struct line *line, uint32_t number, uint64_t realtime_ns);
/* Ends a line, of which at most STRATA_LOG_MAX bytes are written: appends a newline, and "..." before
 * it if the line was cut. STRATA_LOG_TAIL bytes must be free after the line. */
#define STRATA_LOG_TAIL 4
void line_close(struct line *line);

/* Lines for ftrace go to the marker at PATH, or in the directory PATH (tracefs, or an instance of it);
 * NULL: where tracefs is mounted. Opens it; negative errno. */
int ftrace_set_marker(const char *path);
/* Whether the marker is open, or was before fork(). */
bool ftrace_has_marker(void);
/* Writes one line; the marker is opened at the first call. As log_write(). */
ssize_t ftrace_write(const char *text, size_t len);
