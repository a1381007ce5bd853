/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the file that a running QEMU logs to: QEMU logs a line of EVENT, which appears in that file only. Its command
 * line does not determine the file, because the monitor's command `logfile` may have moved the log since. */

#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

#define LOG_SEARCH_MAX 64u

struct log_search {
    struct log_search_file {
        int fd; /* open for reading */
        uint64_t size;
    } files[LOG_SEARCH_MAX];
    unsigned n;
};

/* Notes the sizes of the regular files that process PID has open only for writing, as QEMU opens its log, and of OWN, a
 * file that may be the log; -1: none. */
void log_search_begin(pid_t pid, int own, struct log_search *ret);
/* Call it after QEMU has logged a line of EVENT. Returns the file with that line, open for reading after it; the caller
 * closes it. -1: no file has the line. */
int log_search_end(struct log_search *search, const char *event);
void log_search_done(struct log_search *search);

/* A descriptor that a process may write to: entry NAME of DIR, its /proc/PID/fd. */
struct log_descriptor {
    int dir;
    const char *name;
    struct stat st; /* of the file */
    bool is_read;   /* it may also read */
};

/* Calls FOUND for each such descriptor of process PID, until it returns other than 0, and returns that. -errno: the
 * descriptors cannot be listed. */
int log_search_foreach_writable(pid_t pid,
                                int (*found)(const struct log_descriptor *descriptor,
                                             void *userdata),
                                void *userdata);
/* Opens the file of DESCRIPTOR for reading. -1: not a regular file open only for writing, as QEMU opens its log, or it
 * cannot be opened. */
int log_search_open(const struct log_descriptor *descriptor);

/* True if process PID has the file of ST open for writing, or if its files cannot be listed. */
bool log_search_is_open(pid_t pid, const struct stat *st);
/* True if process PID sees the same PIDs as this process. */
bool log_search_has_pids(pid_t pid);
/* Another QEMU that has the file FD open for writing; 0: none that this user may see. */
pid_t log_search_sharer(pid_t pid, int fd);
