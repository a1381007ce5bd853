/* SPDX-License-Identifier: MIT */
#pragma once

/* What the kernel tells of processes by /proc (proc(5)). Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The beginning of the kernel's file PATH, at most SIZE - 1 bytes, ended by a NUL. -errno. */
int proc_text(const char *path, char *buf, size_t size);
/* When process PID began, in clock ticks (sysconf(_SC_CLK_TCK)) since the boot, and its state: 'Z' and 'X' are those of one
 * that is only waited for. -errno: there is none, or it cannot be seen. */
int proc_stat(pid_t pid, uint64_t *ret_start, char *ret_state);
/* What proc_stat() returned as a start, in ns of CLOCK_BOOTTIME. */
uint64_t proc_start_ns(uint64_t start);
/* Whether there is a process PID that began after MOMENT, of CLOCK_REALTIME, surely: by more than a second. */
bool proc_began_after(pid_t pid, const struct timespec *moment);
