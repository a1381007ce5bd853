/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the recorder of QEMU (record/qemu/recorder.h) call of each other. */

#include "base/macro.h"
#include "record/qemu/arguments.h"
#include "record/qemu/clock.h"
#include "record/qemu/left.h"
#include "record/qemu/log.h"
#include "record/qemu/log_place.h"
#include "record/qemu/monitor.h"
#include "record/qemu/qmp_thread.h"
#include "record/qemu/recorder.h"
#include "record/qemu/restore.h"
#include "record/recording.h"
#include "record/rings/programs.h"

#define VMM_DIR "vmm"
#define VMM_LOG "vmm/trace.log"
#define VMM_SIMPLE "vmm/trace.simple"
#define VMM_PAIRS "vmm/clock-pairs"
#define VMM_DECLARATIONS "vmm/trace-events"

enum qemu_phase {
    QEMU_ADDS_PORT,       /* one that runs: gets a port for the guest's agent … */
    QEMU_SWITCHES_EVENTS, /* … and its events switched on */
    QEMU_RUNS,
    QEMU_SENDS_REST, /* what was on its way from the guest is waited for */
    QEMU_RESTORES,   /* one that runs: what was changed is put back */
    QEMU_IS_OVER,
};

struct qemu_recorder {
    struct recorder recorder;
    struct qemu_recorder_settings settings;
    enum qemu_phase phase;
    struct arena arena;
    struct qemu_log_pipe log; /* where the backend is that */
    struct qemu_clock clock;  /* the same */
    /* Where the backend is libstrata's: the rings of QEMU, and of what it starts that links it, too; … */
    struct programs programs;
    char *variable; /* … and what its environment has to say */
    bool reads_rings;
    struct qemu_monitor monitor;
    struct qemu_restore changes; /* of a QEMU that ran already */
    struct qemu_restore left; /* in it by a recorder that was killed; undone before it is changed */
    struct error left_error;  /* … what could not be */
    struct qmp_thread qmp_thread; /* controls QEMU by its monitor */
    const char *port, *added; /* the socket of the guest's port; … which is to be added, or NULL */
    char *fifo_in_domain;     /* of the log, where it is not in the recording's directory; NULL */
    const char *stop_reason;  /* why libvirt's domain has stopped; NULL */
    const char *log_to;       /* where it is to log … */
    const char *simple_to;    /* … or to write simpletrace */
    const char *control;      /* the name of the socket for others */
    struct manifest_moment began, ended;
    struct child child;     /* what was started, or attached to … */
    struct child qemu;      /* … where that is not QEMU itself; pid 0: it is, or has not come */
    struct children others; /* before anything was started */
    int line; /* at its end when all have ended, or closed it, that were started by what was started; -1 */
    int claim;                     /* of qemu_running_claim() */
    bool looks_for_left, had_left; /* `left` is to be looked for; there was something */
    bool is_left_changed;          /* QEMU's settings could not be restored */
    bool has_come;                 /* QEMU's monitor has answered */
    uint64_t step_at;              /* when step() is due */
    uint64_t rest_by; /* until then, the recorder waits for what the guest still sends */
    uint64_t
        come_by;   /* until then, it waits for QEMU after the program that starts QEMU has ended */
    bool is_ended; /* by the recorder, as the recording could not go on */
    bool is_stopping; /* QEMU is to be ended when the guest has sent the rest */
    uint64_t
        stop_by; /* with is_stopping: when QEMU gets SIGTERM at the latest; UINT64_MAX: it has got it */
    uint64_t start_by;       /* until then, a QEMU that is starting does not get it */
    uint64_t again_at;       /* when it gets the next signal; UINT64_MAX: it has got none yet */
    uint64_t remind_at;      /* when the user is told how to kill it; UINT64_MAX: never */
    const char *simple_copy; /* where its user has trace.simple; NULL: nowhere */
    uint64_t simple_size;    /* of trace.simple, when it was looked at */
    uint64_t simple_at;      /* when it is looked at again, unless it is full */
    bool simple_is_full;     /* it has had its max_size */
    bool has_declarations;
};

static inline struct qemu_recorder *qemu_self(struct recorder *recorder)
{
    return container_of(recorder, struct qemu_recorder, recorder);
}

static inline const struct qemu_recorder *qemu_const_self(const struct recorder *recorder)
{
    return const_container_of(recorder, struct qemu_recorder, recorder);
}

/* ---- The start (start.c) ---- */

int qemu_start(struct recorder *recorder, struct error *error);
/* Has the recorder of the guest's kernel started, where there is one, if the guest has a port for the agent. */
int qemu_join_guest(struct qemu_recorder *self, struct error *error);
/* The socket of the domain's port for the agent. 1: *RET is it; 0: it has none. -errno with ERROR. */
int qemu_find_domain_port(struct qemu_recorder *self, const char **ret, struct error *error);
/* What the recorder has made in its recording's directory. */
void qemu_remove_files(struct qemu_recorder *self);

/* ---- Its process, and its end (stop.c) ---- */

/* Whether QEMU has ended, and what was started to start it. */
bool qemu_has_ended(struct qemu_recorder *self);
/* To QEMU; to what was started as long as it has not come, or where it is out of reach. */
void qemu_signal(const struct qemu_recorder *self, int signal);
/* Its monitor says which process it is. */
void qemu_meet(struct qemu_recorder *self);
uint64_t qemu_stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now);
/* Tells QEMU to end when that is due. Whether one that ran already is to be left now. */
bool qemu_pursue_end(struct qemu_recorder *self, uint64_t now);
/* When the next call of that is due. */
uint64_t qemu_next_pursuit(const struct qemu_recorder *self, uint64_t now);
/* What readers of the trace should know, at the end. */
void qemu_note_problems(struct qemu_recorder *self);

/* ---- What it writes (recorder.c) ---- */

/* Reads what there is. *RET_NEXT: when the next call is due. -ENOMEM with ERROR: the recording cannot go on. */
int qemu_read(struct qemu_recorder *self, uint64_t now, uint64_t *ret_next, struct error *error);

/* ---- The manifest (sources.c) ---- */

int qemu_sources(const struct recorder *recorder, struct arena *arena,
                 struct recorder_sources *ret);
