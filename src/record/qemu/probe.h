/* SPDX-License-Identifier: MIT */
#pragma once

/* What a virtual machine monitor on this host is, and what it can trace. */

#include <sys/types.h>

#include "base/error.h"
#include "record/stop_signals.h"

/* How QEMU hands out its events. Several may be built in; this is the best of them. */
enum vmm_backend {
    VMM_BACKEND_NONE,   /* none that can be recorded */
    VMM_BACKEND_LOG,    /* text, by -D */
    VMM_BACKEND_SIMPLE, /* simpletrace files, by -trace file= */
    VMM_BACKEND_RING,   /* libstrata's rings */
};

struct qemu_probe {
    char version[128]; /* "7.2.22" */
    enum vmm_backend backend;
    bool logs;       /* the backend log is built in */
    bool has_simple; /* the backend simple is built in */
    char **events;   /* names of those that can be switched on; sorted */
    unsigned n_events;
    char *declarations; /* the file that declares them, trace-events-all; NULL: not found */
    /* By the place in `events`: those that the file lacks, as that of another QEMU does. NULL: it has all of them. */
    bool *undeclared;
};

/* Whether PROGRAM, a file, is QEMU's emulator of whole machines, by its name or by what is
 * in the file. It is not run. */
bool vmm_is_qemu(const char *program);

/* The file that COMMAND means: malloc()ed, absolute. PATH is $PATH or NULL. -ENOENT with ERROR. */
int qemu_find_program(const char *command, const char *path, char **ret_program,
                      struct error *error);

/* ROOT_OF: the process whose root directory has PROGRAM, which is not trusted; 0: this one. */
/* Runs PROGRAM, a path, without a machine, to ask it. ACCELERATOR is what its command names ("kvm:tcg"), as it may have
 * no other; "": none. -ETIMEDOUT; -ENOEXEC: it ends before it answers, or cannot be run; ERROR says how. RUNTIME is
 * $XDG_RUNTIME_DIR or NULL. -EINTR: one of SIGNALS came, which may be NULL. */
int qemu_probe(const char *program, pid_t root_of, const char *accelerator, const char *runtime,
               struct stop_signals *signals, struct qemu_probe *ret, struct error *error);
void qemu_probe_done(struct qemu_probe *probe);

/* The events that PATTERN ('*', '?') matches. */
unsigned qemu_probe_count(const struct qemu_probe *probe, const char *pattern);

/* The first of them that `declarations` lacks; NULL: it has all. */
const char *qemu_probe_undeclared(const struct qemu_probe *probe, const char *pattern);
