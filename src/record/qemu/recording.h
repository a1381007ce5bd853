/* SPDX-License-Identifier: MIT */
#pragma once

/* The recording of a virtual machine, from before its monitor is started until behind its end: all sources at
 * once, into one directory.
 *
 *     DIR/trace.json
 *     DIR/vmm/trace.log      what QEMU logs; or trace.simple; or
 *     DIR/program/           the native trace of one that links libstrata (record/rings/programs.h)
 *     DIR/vmm/clock-pairs    how the times of the log relate to the host's clock
 *     DIR/vmm/trace-events   the declarations of QEMU's events
 *     DIR/guest-guest/       the guest's kernel (record/agent/guests.h)
 *     DIR/host/              the host's kernel
 *
 * One thread, one loop: qemu_recording_step() until it says that QEMU has ended. The caller sees to signals. */

#include <signal.h>

#include "base/child.h"
#include "record/agent/guests.h"
#include "record/agent/host_agent.h"
#include "record/qemu/arguments.h"
#include "record/qemu/clock.h"
#include "record/qemu/log.h"
#include "record/qemu/monitor.h"
#include "record/qemu/probe.h"
#include "record/qemu/restore.h"
#include "record/qemu/running.h"
#include "record/rings/programs.h"
#include "tracedir/registry.h"

/* All borrowed, for as long as the recording is there. */
struct qemu_settings {
    const char *dir;
    const char *const *command; /* that starts QEMU, as its user would give it */
    unsigned n_command;
    unsigned n_before;   /* words of it that run another program, in front of QEMU's own */
    const char *program; /* QEMU */
    bool wrapped;        /* the command is none of QEMU's, but hands on to it what stands last */
    /* One that runs already is to be recorded, whose command that is; NULL: it is started. */
    const struct qemu_running *running;
    const char *qmp; /* of that, the socket for its monitor */
    const struct qemu_probe *probe;
    const char *const *events; /* patterns of QEMU's */
    unsigned n_events;
    const struct trace_config *guest; /* of the guest's kernel; NULL: is not recorded */
    const struct trace_config *host;  /* of this machine's */
    bool host_threads;                /* … only while threads of QEMU run, and the recorder's */
    const char *agent;                /* the program strata-agent, for the latter */
    uint64_t max_size;                /* of each source, bytes; 0: any */
    unsigned passes;                  /* PRINTABLE_...: what of QEMU's log reaches the terminal */
    const char *runtime;              /* $XDG_RUNTIME_DIR or NULL */
    const char *trace;                /* $STRATA_TRACE or NULL */
    const sigset_t *mask;             /* QEMU's blocked signals */
    /* Prints what the user should know at once, about PATH; NULL: nothing does. */
    void (*report)(const char *what, const char *path);
};

#define VMM_PROBLEMS_MAX 16u

struct qemu_recording {
    struct qemu_settings settings;
    struct arena arena;
    char *path;               /* of the directory, absolute */
    struct qemu_log_pipe log; /* where the backend is that */
    struct qemu_clock clock;  /* the same */
    struct programs
        programs; /* where it is libstrata's: its rings, and of what QEMU starts that links it, too; … */
    char *variable; /* … and what its environment has to say */
    struct qemu_monitor monitor;
    struct qemu_restore changes; /* where it ran already */
    struct guests guests;        /* n 0: none */
    struct host_agent agent;
    const char *control; /* the name of the socket for others */
    const char *accelerator;
    struct manifest_moment began, ended;
    uint64_t stop_by;        /* while it is stopping: when QEMU is ended whatever is missing … */
    uint64_t start_by;       /* … unless it is about to start, until then */
    uint64_t told_at;        /* when QEMU was told to end, as all had come; 0: it was not */
    uint64_t again_at;       /* when it is told again; 0: it is not told yet */
    uint64_t come_by;        /* when QEMU is waited for no longer, where what starts it has ended */
    const char *simple_copy; /* where its user has trace.simple; NULL: nowhere */
    uint64_t simple_size;    /* of trace.simple, at the end */
    uint64_t simple_next;    /* when it is looked at again, unless it is full */
    const char *problems[VMM_PROBLEMS_MAX];
    unsigned n_problems;
    struct registry_entry registry_entry;
    struct child child; /* what was started … */
    struct child qemu;  /* … where that is not QEMU itself; pid 0: it is, or has not come */
    int dir;
    int spare;
    struct children others; /* before anything was started */
    int line; /* at its end when all have ended, or closed it, that were started by what was started; -1 */
    int claim;        /* of qemu_running_claim() */
    bool made;        /* the directory, by us */
    bool has_come;    /* QEMU's monitor has answered */
    bool takes_rings; /* the backend is libstrata's */
    bool has_declarations;
    bool stopping;       /* QEMU is to be ended when the guests have sent the rest */
    bool simple_is_full; /* trace.simple has had its max_size */
};

/* Makes the directory and starts QEMU. -errno with ERROR: nothing is left of it. */
int qemu_recording_begin(const struct qemu_settings *settings, struct qemu_recording *ret,
                         struct error *error);
/* Works, and sleeps for some milliseconds or until one of the signals that MASK lets through. 1; 0: QEMU has
 * ended. -errno with ERROR: the recording cannot go on; QEMU does. */
int qemu_recording_step(struct qemu_recording *recording, const sigset_t *mask,
                        struct error *error);
/* Has the guest send the rest, and then ends QEMU in order (SIGTERM). Again: at once. A third time: by force. */
void qemu_recording_stop(struct qemu_recording *recording);
/* Takes what is left, when QEMU has ended (else it is ended), and closes the directory: all that is known is
 * final. -errno with ERROR: its manifest could not be written. */
int qemu_recording_end(struct qemu_recording *recording, struct error *error);
/* Frees all; QEMU is killed if it runs. */
void qemu_recording_done(struct qemu_recording *recording);
