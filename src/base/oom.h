/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether the kernel killed a process because memory was exhausted, of this machine or of the process's cgroup. The kernel
 * counts these kills (/proc/vmstat), and its log, which not every user can read, names the process. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When a process began, or was first seen. */
struct oom_watch {
    int64_t since_ns; /* of CLOCK_MONOTONIC */
    uint64_t kills;   /* that the kernel had counted; UINT64_MAX: it does not count */
};

enum oom_verdict {
    OOM_NOT, /* the kernel killed no process since then, or does not count them and its log does not name this one */
    OOM_MAYBE, /* it killed some, and its log does not name this one */
    OOM_KILLED,
};

struct oom_watch oom_begin(void);
/* Of process PID, which SIGKILL has ended; OOM_NOT if WATCH was not begun. *RET_KILLS: how many processes were killed meanwhile. */
enum oom_verdict oom_judge(const struct oom_watch *watch, pid_t pid, uint64_t *ret_kills);
/* Whether RECORD of the kernel's log, "PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT", says so of PID, after SINCE_NS. */
bool oom_record_names(const char *record, pid_t pid, int64_t since_ns);
