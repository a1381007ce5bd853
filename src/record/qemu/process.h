/* SPDX-License-Identifier: MIT */
#pragma once

/* A QEMU that runs, and what its command line says (/proc/PID/cmdline, record/qemu/command_line.h): the address of its
 * monitor, the destination of its log, whether its guest has a port for the agent. */

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

struct qemu_process {
    struct arena arena; /* of all strings and arrays below */
    pid_t pid;
    uint64_t start;          /* of the process, as in /proc/PID/stat, because PIDs are reused */
    const char *program;     /* the file that it executes */
    const char *const *argv; /* NULL-ended */
    unsigned n;
    const char *name; /* of the machine, by -name; NULL */
    const char *uuid; /* the same by -uuid; NULL */
    const char
        *libvirt; /* the directory that libvirt made for the files of this domain; NULL: libvirt
                               did not start it */
    const char *const *qmp; /* sockets on which it speaks QMP, best first */
    unsigned n_qmp;
    const char *qmp_elsewhere; /* another address of QMP: a descriptor, TCP; NULL: none */
    /* The paths of sockets are those that this process uses. */
    const char *port;         /* the socket of the port org.strata.agent; NULL */
    const char *port_id;      /* … and its ID; NULL: it has none */
    const char *port_chardev; /* … and the ID of its chardev; NULL: there is no port */
    const char *log;          /* of -D, as QEMU names it; NULL: standard error */
    const char *trace_file;   /* of the last -trace, which replaces the one before; NULL */
    bool has_root;            /* its paths are of other files than here */
    bool awaits_migration;    /* its machine comes from another QEMU: -incoming */
    bool has_times;           /* lines of the log have times: -msg timestamp=on */
    bool logs_by_thread;      /* each thread has a log of its own: -d tid */
};

/* -ESRCH: there is no such process; -ENOEXEC: it is not QEMU; -EACCES: of another user; with ERROR. */
int qemu_process_open(pid_t pid, struct qemu_process *ret, struct error *error);
void qemu_process_done(struct qemu_process *process);
/* The socket of its monitor, in PROCESS. -ENOTCONN with ERROR: it has none that the recorder could use. */
int qemu_process_monitor(const struct qemu_process *process, const char **ret_socket,
                         struct error *error);
/* Those of this user, of root all, whose file has qemu or kvm in its name, in the order of their numbers. What FOUND
 * returns, if it is not 0, ends it, and is returned. -errno: /proc cannot be read. */
int qemu_process_foreach(int (*found)(const struct qemu_process *process, void *userdata),
                         void *userdata);
/* When it was started, CLOCK_REALTIME, ns, to a hundredth of a second. */
int64_t qemu_process_since(const struct qemu_process *process);
/* The path by which this process opens PATH, as QEMU names it; allocated. NULL: out of memory. */
char *qemu_process_path(const struct qemu_process *process, const char *path);
/* Opens PATH, as QEMU names it, and no file outside of its root directory. -1: it cannot be opened. */
int qemu_process_file(const struct qemu_process *process, const char *path, int flags);

/* Where the log goes, of a QEMU without the backend simple; NULL: standard error. Its -trace file= comes after -D. */
static inline const char *qemu_process_log(const struct qemu_process *process)
{
    return process->trace_file ? process->trace_file : process->log;
}

/* Claims process PID for this recorder until *RET_FD is closed, or the recorder ends. -EBUSY with ERROR: another
 * recorder has it, which is named if it is this user's. RUNTIME is $XDG_RUNTIME_DIR or NULL. */
int qemu_process_claim(pid_t pid, const char *runtime, int *ret_fd, struct error *error);

/* The same from words of a command line (`argv`, `n`) of PID: for tests. -ENOMEM. */
int qemu_process_parse(struct qemu_process *process);
