/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses a line of text with an event of a Linux kernel, as printed by ftrace, trace-cmd and perf.
 *
 *     COMM-PID     [CPU] FLAGS SECONDS.MICROSECONDS: NAME: TEXT          ftrace, trace-cmd report
 *     COMM-PID  (TGID) [CPU] FLAGS TIME: NAME: TEXT                      with the option record-tgid
 *     COMM-PID     [CPU] FLAGS TIME: FUNCTION <-PARENT                   its tracer function
 *     COMM-PID     [CPU] FLAGS TIME: sys_CALL(NAME: VALUE, …)            syscalls:sys_enter_CALL
 *     COMM-PID     [CPU] FLAGS TIME: sys_CALL -> VALUE                   syscalls:sys_exit_CALL
 *     COMM-PID     [CPU] FLAGS TIME: (+DIFFERENCE) NAME: TEXT            trace-cmd report --ts-diff
 *     COMM-PID     CPUFLAGS TIME: NAME: TEXT                             trace-cmd report -l: 8 bytes of COMM
 *     COMM PID [CPU] MISC SECONDS.FRACTION: [PERIOD] [GROUP:]NAME: TEXT  perf script; PID may be PID/TID
 *     COMM PID CPU SECONDS.FRACTION: [PERIOD] [GROUP:]NAME: TEXT         perf script -L: 8 bytes of COMM
 *
 *     … TIME: <stack trace>                                               ftrace; the stack follows, line by line
 *
 * FLAGS may be missing; in perf's lines, also COMM, PID, [CPU] and MISC. COMM may have blanks and any character. A name
 * that may be cut is treated as unknown. TIME is an integer for clocks that count ticks.
 *
 * Source: Linux, Documentation/trace/ftrace.rst, and what trace-cmd 3.1 and perf 6.1 print. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernel_text_kind {
    KERNEL_TEXT_NONE,
    KERNEL_TEXT_FTRACE,
    KERNEL_TEXT_PERF,
};

/* Strings are borrowed from the line. */
struct kernel_line {
    enum kernel_text_kind kind;
    const char *comm;
    size_t comm_len;
    int32_t pid;
    int32_t cpu;
    int64_t time;          /* ns, or ticks */
    uint32_t time_unit_ns; /* resolution of TIME, if it is coarser than 1 ns; otherwise 0 */
    bool is_ticks;         /* TIME is an integer */
    /* Not an event, but another record of perf's file: "PERF_RECORD_LOST lost 12". */
    bool is_record;
    uint64_t lost; /* lost events of such a record, or 0 */
    const char *group;
    size_t group_len; /* 0: no group */
    /* Prefix of the name, "sys_enter_" or "sys_exit_", if ftrace prints the call instead of the event; NULL: none. */
    const char *call_prefix;
    const char *name;
    size_t name_len;
    const char *text; /* the rest of the line after the name */
    size_t text_len;
};

/* Parses LEN bytes of TEXT without a newline. Returns false if they do not describe an event. */
bool kernel_line_read(const char *text, size_t len, struct kernel_line *ret);

/* True for "COMM PID [CPU] SECONDS.FRACTION: …", which perf prints without the event's name, so that it is not an event
 * for kernel_line_read(). */
bool kernel_line_is_nameless(const char *text, size_t len);

/* Parses "sys_CALL(NAME: VALUE, …)" or "sys_CALL -> VALUE": the name of the event, and its text. */
bool kernel_line_read_call(const char *text, size_t len, struct kernel_line *ret);

/* Parses "CPU:3 [LOST 12 EVENTS]", which ftrace writes before the CPU's next event, and "CPU:3 [12 EVENTS DROPPED]" or
 * "NAME: CPU:3 …" of trace-cmd. *RET_LOST: LOST_UNKNOWN if there is no number. */
bool kernel_line_lost(const char *text, size_t len, int32_t *ret_cpu, uint64_t *ret_lost);
