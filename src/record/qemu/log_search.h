/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the file that a running QEMU logs to by what QEMU writes: a line of EVENT comes in that file, and in no other. Its command
 * line does not tell: the monitor's command `logfile` may have moved the log since. */

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

/* Notes the sizes of the regular files that process PID has open for writing alone, as QEMU opens its log, and of OWN, a file in
 * which the log is supposed to be; -1: none. */
void log_search_begin(pid_t pid, int own, struct log_search *ret);
/* After QEMU has written a line of EVENT: the file that has it, open for reading behind that line, which the caller closes. -1:
 * none of them. */
int log_search_end(struct log_search *search, const char *event);
void log_search_done(struct log_search *search);

/* What a process may write to: entry NAME of DIR, its /proc/PID/fd. */
struct log_descriptor {
    int dir;
    const char *name;
    struct stat st; /* of the file */
    bool is_read;   /* it may read it, too */
};

/* Calls FOUND for each of process PID. What it returns, if it is not 0, ends that, and is returned. -errno: they cannot be listed. */
int log_search_foreach_writable(pid_t pid,
                                int (*found)(const struct log_descriptor *descriptor,
                                             void *userdata),
                                void *userdata);
/* The file of DESCRIPTOR, a regular one that it only writes, as QEMU does its log, open for reading; -1: it is none, or cannot be opened. */
int log_search_open(const struct log_descriptor *descriptor);

/* Whether process PID has the file of ST open for writing, or its files cannot be listed. */
bool log_search_is_open(pid_t pid, const struct stat *st);
/* True if process PID has the PIDs that this process sees. */
bool log_search_has_pids(pid_t pid);
/* Another QEMU that has the file FD open for writing; 0: none that this user may see. */
pid_t log_search_sharer(pid_t pid, int fd);
