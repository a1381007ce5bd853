/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes lines of text to standard error, a file, or the kernel's ftrace buffer. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/format.h"

/* Notes the present file of standard error. A file that a program opens later under that number may be its data, so
 * lines go there only after another call. Also called before main(). */
void log_note_standard_error(void);

/* Appends lines to PATH from now on; NULL: to the present file of standard error. Returns 0 or a negative errno. */
int log_set_file(const char *path);
/* True if a file of log_set_file() is open, or was open before fork(). */
bool log_has_file(void);
/* Notes that the last written line stays incomplete. Before the next write, it gets the ending of a cut line. Any
 * context. */
void log_note_torn(void);
/* Writes into LINE that N events were dropped. */
void line_put_dropped(struct line *line, uint64_t n);
/* Removes the last N bytes of the file, which must just have been written. Returns false if that is impossible. */
bool log_cut(size_t n);
/* Writes as much as the log file accepts now, without waiting. Returns the number of bytes, or a negative errno;
 * -EAGAIN: nothing can be written now. Any context. */
ssize_t log_write(const char *text, size_t len);
/* log_write() writes up to this many bytes completely or not at all. */
size_t log_whole(void);
/* Waits up to MS milliseconds until the log file may accept more. */
void log_wait(unsigned ms);
/* As log_write(), to the file that was standard error when the program began or log_set_file() was called. */
ssize_t standard_error_write(const char *text, size_t len);
/* True: lines begin with "PID@SEC.USEC:". Default: true. */
void log_set_stamps(bool on);
bool log_stamps(void);

/* Writes "PID@SEC.USEC:" for a thread number and a time in nanoseconds. */
void line_put_stamp(struct line *line, uint32_t number, uint64_t realtime_ns);
/* Ends a line, of which at most STRATA_LOG_MAX bytes are written: appends a newline, and "..." before
 * it if the line was cut. STRATA_LOG_TAIL bytes must be free after the line. */
#define STRATA_LOG_TAIL 4
void line_close(struct line *line);

/* Sends lines for ftrace to the marker at PATH, or in the directory PATH (tracefs or an instance of it); NULL: in the
 * mounted tracefs. Opens the marker. Returns 0 or a negative errno. */
int ftrace_set_marker(const char *path);
/* True if the marker is open, or was open before fork(). */
bool ftrace_has_marker(void);
/* Writes one line. Opens the marker at the first call. Returns as log_write(). */
ssize_t ftrace_write(const char *text, size_t len);
