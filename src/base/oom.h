/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds out whether the kernel killed a process because the memory of the machine or of a cgroup was exhausted. The kernel
 * counts such kills in /proc/vmstat. Its log, which not every user can read, names the process. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When a process began, or was first seen. */
struct oom_watch {
    int64_t since_ns; /* of CLOCK_MONOTONIC */
    uint64_t kills;   /* the kernel's count at that time; UINT64_MAX: the kernel does not count */
};

enum oom_verdict {
    OOM_NOT, /* the kernel killed no process since then, or it does not count and its log does not name this process */
    OOM_MAYBE, /* the kernel killed processes, and its log does not name this process */
    OOM_KILLED,
};

struct oom_watch oom_begin(void);
/* Judges process PID, which SIGKILL has ended. OOM_NOT if WATCH was not begun. *RET_KILLS is the number of processes that were
 * killed since then. */
enum oom_verdict oom_judge(const struct oom_watch *watch, pid_t pid, uint64_t *ret_kills);
/* True if RECORD of the kernel's log, "PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT", names PID as killed after SINCE_NS. */
bool oom_record_names(const char *record, pid_t pid, int64_t since_ns);
