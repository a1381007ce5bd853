/* SPDX-License-Identifier: MIT */
#pragma once

/* A running QEMU, and what its command line says (/proc/PID/cmdline, record/qemu/command_line.h): the address of its
 * monitor, the destination of its log, whether its guest has a port for the agent. */

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

struct qemu_process {
    struct arena arena; /* of all strings and arrays below */
    pid_t pid;
    uint64_t start;          /* start time from /proc/PID/stat, because PIDs are reused */
    const char *program;     /* the file that it executes */
    const char *const *argv; /* NULL-ended */
    unsigned n;
    const char *name; /* of the machine, from -name; NULL */
    const char *uuid; /* of the machine, from -uuid; NULL */
    /* Libvirt's directory for the files of this domain; NULL: libvirt did not start it. */
    const char *libvirt;
    const char *const *qmp; /* sockets on which it speaks QMP, best first */
    unsigned n_qmp;
    const char *qmp_elsewhere; /* another address of QMP (a descriptor, TCP); NULL: none */
    /* Paths of sockets are as this process must open them. */
    const char *port;         /* socket of the port org.strata.agent, or NULL */
    const char *port_id;      /* ID of that port, or NULL */
    const char *port_chardev; /* ID of the chardev of that port; NULL: no port */
    const char *log;          /* file of -D, as QEMU names it; NULL: standard error */
    const char *trace_file;   /* file of the last -trace, which replaces earlier ones; NULL */
    bool has_root;            /* its root directory is another one than ours */
    bool awaits_migration;    /* its machine will come from another QEMU: -incoming */
    bool has_times;           /* log lines have times: -msg timestamp=on */
    bool logs_by_thread;      /* each thread has its own log: -d tid */
};

/* -ESRCH: no such process; -ENOEXEC: not QEMU; -EACCES: another user's process; with ERROR. */
int qemu_process_open(pid_t pid, struct qemu_process *ret, struct error *error);
void qemu_process_done(struct qemu_process *process);
/* The socket of its monitor; *RET_SOCKET belongs to PROCESS. -ENOTCONN with ERROR: none that the recorder could use. */
int qemu_process_monitor(const struct qemu_process *process, const char **ret_socket,
                         struct error *error);
/* Calls FOUND for each running QEMU of this user (for root: of all users) whose file has qemu or kvm in its name, in
 * the order of PIDs, until FOUND returns other than 0, and returns that. -errno: /proc cannot be read. */
int qemu_process_foreach(int (*found)(const struct qemu_process *process, void *userdata),
                         void *userdata);
/* When it was started: CLOCK_REALTIME in ns, to 10 ms. */
int64_t qemu_process_since(const struct qemu_process *process);
/* The path by which this process opens the file that QEMU calls PATH. The caller frees it. NULL: out of memory. */
char *qemu_process_path(const struct qemu_process *process, const char *path);
/* Opens the file that QEMU calls PATH, but no file outside QEMU's root directory. -1: it cannot be opened. */
int qemu_process_file(const struct qemu_process *process, const char *path, int flags);

/* The file of the log of a QEMU without the backend simple; NULL: standard error. Its -trace file= replaces -D. */
static inline const char *qemu_process_log(const struct qemu_process *process)
{
    return process->trace_file ? process->trace_file : process->log;
}

/* Claims process PID for this recorder until *RET_FD is closed or the recorder ends. -EBUSY with ERROR: another
 * recorder has claimed it; ERROR names a recorder of this user. RUNTIME is $XDG_RUNTIME_DIR or NULL. */
int qemu_process_claim(pid_t pid, const char *runtime, int *ret_fd, struct error *error);

/* For tests: sets PROCESS from the words of its command line (`argv`, `n`). -ENOMEM. */
int qemu_process_parse(struct qemu_process *process);
