/* SPDX-License-Identifier: MIT */
#pragma once

/* Asks a QEMU on this host for its version and the events that it can trace. */

#include <sys/types.h>

#include "base/error.h"
#include "record/stop_signals.h"

/* How QEMU outputs its events. Several backends may be built in; this is the best of them. */
enum vmm_backend {
    VMM_BACKEND_NONE,   /* no backend that can be recorded */
    VMM_BACKEND_LOG,    /* text, by -D */
    VMM_BACKEND_SIMPLE, /* simpletrace files, by -trace file= */
    VMM_BACKEND_RING,   /* libstrata's rings */
};

struct qemu_probe {
    char version[128]; /* "7.2.22" */
    enum vmm_backend backend;
    bool logs;       /* the backend log is built in */
    bool has_simple; /* the backend simple is built in */
    char **events;   /* names of the events that can be switched on; sorted */
    unsigned n_events;
    /* the file that declares the events, trace-events-all; NULL: not found */
    char *declarations;
    /* By index of `events`: true if the file lacks the event, because it is from another QEMU. NULL: it has all events. */
    bool *undeclared;
};

/* True if the file PROGRAM is a QEMU system emulator, by its name or its content. It is not run. */
bool vmm_is_qemu(const char *program);

/* Finds the file of COMMAND. The caller frees *RET_PROGRAM, an absolute path. PATH is $PATH or NULL. -ENOENT with
 * ERROR. */
int qemu_find_program(const char *command, const char *path, char **ret_program,
                      struct error *error);

/* ROOT_OF: the process whose root directory has PROGRAM; it is not trusted. 0: this process. */
/* Runs PROGRAM, a path, without a machine, and asks it. ACCELERATOR: the accelerators of its command ("kvm:tcg"),
 * because PROGRAM may have no other; "": none. -ETIMEDOUT; -ENOEXEC with ERROR: it ends before it answers, or cannot be
 * run. RUNTIME is $XDG_RUNTIME_DIR or NULL. -EINTR: one of SIGNALS came; SIGNALS may be NULL. */
int qemu_probe(const char *program, pid_t root_of, const char *accelerator, const char *runtime,
               struct stop_signals *signals, struct qemu_probe *ret, struct error *error);
void qemu_probe_done(struct qemu_probe *probe);

/* The number of events that PATTERN ('*', '?') matches. */
unsigned qemu_probe_count(const struct qemu_probe *probe, const char *pattern);

/* The first of these events that `declarations` lacks, or NULL. */
const char *qemu_probe_undeclared(const struct qemu_probe *probe, const char *pattern);
