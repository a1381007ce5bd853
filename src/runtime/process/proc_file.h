/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the kernel's files about this process. No allocation, no locks: any context. */

/* Reads up to SIZE - 1 bytes of the file at PATH into BUF and adds a NUL; "" if the file cannot be read. */
void proc_read(const char *path, char *buf, size_t size);

/* The start time of this process in clock ticks since boot; 0 without /proc. */
uint64_t proc_start_time(void);
/* The start time of process PID in ns of CLOCK_BOOTTIME; 0: no such process, it has ended, or no /proc. */
uint64_t proc_start_of(pid_t pid);

/* The inode of this process's PID namespace; 0 without /proc. */
uint64_t proc_pid_namespace(void);

/* The state of the main thread as in /proc/PID/stat ('S', 'R', 'Z', ...); 0 without /proc. */
char proc_main_thread_state(void);

/* The number of threads of this process, including a main thread that has ended; 0 without /proc. */
unsigned proc_thread_count(void);
