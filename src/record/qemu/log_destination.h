/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a running QEMU can open files: it may be of another user, and confined to directories and devices of its own. */

#include <sys/stat.h>

#include "record/qemu/process.h"

/* What is lent to QEMU's user: the pipe or file that is its standard error, which only the user who made it may open
 * again. */
struct log_loan {
    int fd; /* -1: nothing was lent */
    uid_t uid;
    gid_t gid;
};

#define LOG_LOAN_NONE ((struct log_loan){.fd = -1})

/* The FIFO for QEMU's log, in the directory that libvirt made for the domain's files: its QEMU can open files there
 * whatever confines it, and libvirt removes the directory with the domain. Allocated; NULL: there is no such directory, or
 * this user cannot write there, or its path has a %, which QEMU would replace. A FIFO that a killed recorder left is removed: call it with the QEMU claimed. */
char *log_destination_in_domain(const struct qemu_process *running);

/* The user and group of process PID. -errno: it is not there. */
int log_destination_user(pid_t pid, uid_t *ret_uid, gid_t *ret_gid);

/* The file where RUNNING has its own log already, open for reading. QEMU is not asked to log elsewhere then: from 8.0 on it would
 * empty that file when it goes back to it. -ENOENT: its log is no regular file, or several (-d tid). -EREMOTE with ERROR: QEMU could not
 * go back to it: a file that it does not have open any more, a socket. Another -errno with ERROR. */
int log_destination_own_file(const struct qemu_process *running, struct error *error);

/* The name of its standard error for process PID itself. */
const char *log_destination_stderr(pid_t pid);
/* Whether process PID, which has FILE open as its log, can open FILE again: not if its root directory, as of -chroot, does not have
 * it. */
bool log_destination_is_reachable(pid_t pid, const char *file);
/* True for such a name. */
bool log_destination_is_stderr(const char *path);
/* Lets process PID open its standard error again, until log_destination_return(). Does nothing where that is not needed, or not
 * possible. */
struct log_loan log_destination_lend_stderr(pid_t pid);
void log_destination_return(struct log_loan *loan);
