/* SPDX-License-Identifier: MIT */
#pragma once

/* Information about processes from /proc (proc(5)). Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Reads the beginning of the file PATH, at most SIZE - 1 bytes, and appends a NUL. -errno. */
int proc_text(const char *path, char *buf, size_t size);
/* The process number that WORD is; 0: WORD is not a number of a process. */
pid_t proc_number(const char *word);
/* Start time of process PID in clock ticks (sysconf(_SC_CLK_TCK)) since the boot, and its state: 'Z' or
 * 'X' if it has ended. -errno: it does not exist, is not visible, or could not be read. */
int proc_stat(pid_t pid, uint64_t *ret_start, char *ret_state);
/* The CPU time that the threads of process PID have used, in ticks of _SC_CLK_TCK. -errno. */
int proc_cpu_time(pid_t pid, uint64_t *ret);
/* The number of a process in its innermost PID namespace. TEXT is the content of /proc/PID/status. 0: the kernel does not show
 * it. */
unsigned long proc_inner_number(const char *text);
/* True if process numbers here are the kernel's own, as in its trace. False in a PID namespace, such as a container's.
 * Source: PROC_PID_INIT_INO in Linux's proc_ns.h. */
bool proc_has_kernel_numbers(void);
/* What to do about it. */
#define PROC_NUMBERS_ADVICE "record outside of the container, or in the host's PID namespace"
/* True if the error R of proc_stat() says that there is no such process. False if the process could not be read. */
bool proc_is_gone(int r);
/* Converts a start time of proc_stat() to ns of CLOCK_BOOTTIME. */
uint64_t proc_start_ns(uint64_t start);
/* True if process PID exists and certainly started after MOMENT (CLOCK_REALTIME): by more than a
 * second. */
bool proc_began_after(pid_t pid, const struct timespec *moment);
