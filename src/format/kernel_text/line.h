/* SPDX-License-Identifier: MIT */
#pragma once

/* A line of text that tells an event of a Linux kernel, as ftrace, trace-cmd and perf print them.
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
 * FLAGS may be missing, and COMM, PID, [CPU] and MISC in perf's. COMM may have blanks and any sign. A name that may be cut is not
 * known. TIME is a whole number for clocks that count ticks.
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

/* Parts of the line are borrowed. */
struct kernel_line {
    enum kernel_text_kind kind;
    const char *comm;
    size_t comm_len;
    int32_t pid;
    int32_t cpu;
    int64_t time;          /* ns, or ticks */
    uint32_t time_unit_ns; /* of the last digit of TIME, where it is more than one; otherwise 0 */
    bool is_ticks;         /* TIME is a whole number */
    bool is_record; /* no event, but another record of perf's file: "PERF_RECORD_LOST lost 12" */
    uint64_t lost;  /* of such a record: events, or 0 */
    const char *group;
    size_t group_len; /* 0: it is not told */
    /* In front of the name, "sys_enter_" or "sys_exit_", where ftrace prints the call instead of the event; NULL: nothing. */
    const char *call_prefix;
    const char *name;
    size_t name_len;
    const char *text; /* what follows the name */
    size_t text_len;
};

/* Reads LEN bytes of TEXT, which has no newline. False: it tells no event. */
bool kernel_line_read(const char *text, size_t len, struct kernel_line *ret);

/* "COMM PID [CPU] SECONDS.FRACTION: …", as perf prints what is no event for kernel_line_read() without the event's name. */
bool kernel_line_is_nameless(const char *text, size_t len);

/* "sys_CALL(NAME: VALUE, …)", "sys_CALL -> VALUE": the name of the event, and its text. */
bool kernel_line_read_call(const char *text, size_t len, struct kernel_line *ret);

/* "CPU:3 [LOST 12 EVENTS]", as ftrace writes before the CPU's next event; "CPU:3 [12 EVENTS DROPPED]" or "NAME: CPU:3 …", as
 * trace-cmd does. *RET_LOST: LOST_UNKNOWN where it has no number. */
bool kernel_line_lost(const char *text, size_t len, int32_t *ret_cpu, uint64_t *ret_lost);
