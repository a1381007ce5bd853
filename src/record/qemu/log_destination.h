/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds places where a running QEMU can open files. QEMU may belong to another user, and be confined to directories and
 * devices of its own. */

#include <sys/stat.h>

#include "record/qemu/process.h"

/* The pipe or file of QEMU's standard error, lent to QEMU's user. Only its owner may open it again. */
struct log_loan {
    int fd; /* -1: nothing was lent */
    uid_t uid;
    gid_t gid;
};

#define LOG_LOAN_NONE ((struct log_loan){.fd = -1})

/* The path for the FIFO of QEMU's log in libvirt's directory for the domain. QEMU can open files there however it is
 * confined, and libvirt removes the directory with the domain. The caller frees the path. NULL: there is no such
 * directory, this user cannot write there, or its path has a '%', which QEMU would replace. Removes a FIFO that a
 * killed recorder left, so the caller must have claimed QEMU. */
char *log_destination_in_domain(const struct qemu_process *running);

/* The user and group of process PID. -errno: there is no such process. */
int log_destination_user(pid_t pid, uid_t *ret_uid, gid_t *ret_gid);

/* Opens the file to which RUNNING already logs, for reading. QEMU is then not asked to log elsewhere, because from 8.0
 * on it would empty this file when it returns to it. -ENOENT: the log is not a regular file, or there are several (-d
 * tid). -EREMOTE with ERROR: QEMU could not return to the log: a socket, or a file that it does not have open any more.
 * Other -errno with ERROR. */
int log_destination_own_file(const struct qemu_process *running, struct error *error);

/* The path of process PID's standard error, as the process itself sees it. */
const char *log_destination_stderr(pid_t pid);
/* True if process PID, which has FILE open as its log, can open FILE again: its root directory (-chroot) must have the
 * file. */
bool log_destination_is_reachable(pid_t pid, const char *file);
/* True if PATH is a path of log_destination_stderr(). */
bool log_destination_is_stderr(const char *path);
/* Lets process PID open its standard error again, until log_destination_return(). Does nothing if that is unnecessary
 * or impossible. */
struct log_loan log_destination_lend_stderr(pid_t pid);
void log_destination_return(struct log_loan *loan);
