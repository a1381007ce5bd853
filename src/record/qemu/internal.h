/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the recorder of QEMU (record/qemu/recorder.h) call of each other. */

#include "base/macro.h"
#include "record/qemu/arguments.h"
#include "record/qemu/clock.h"
#include "record/qemu/leftover.h"
#include "record/qemu/log.h"
#include "record/qemu/log_destination.h"
#include "record/qemu/monitor.h"
#include "record/qemu/place.h"
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
    QEMU_ADDS_PORT,       /* attached: the guest gets a port for its agent, … */
    QEMU_FINDS_LOG,       /* … the file that QEMU logs to is found, … */
    QEMU_SWITCHES_EVENTS, /* … and events are switched on */
    QEMU_RUNS,
    QEMU_SENDS_REST, /* waits for what the guest still sends */
    QEMU_RESTORES,   /* attached: restores what was changed */
    QEMU_IS_OVER,
};

struct qemu_recorder {
    struct recorder recorder;
    struct qemu_recorder_settings settings;
    enum qemu_phase phase;
    struct arena arena;
    struct qemu_log_input log; /* of the backend log */
    struct qemu_clock clock;   /* of the backend log */
    /* Of the backend ring: the rings of QEMU and of the programs that it starts; … */
    struct programs programs;
    char *variable; /* … and the environment variable for them */
    struct qemu_monitor monitor;
    struct qemu_restore changes;  /* attached: what to restore */
    struct qemu_restore left;     /* what a killed recorder left changed; restored first */
    struct error left_error;      /* … and what could not be restored */
    struct qmp_thread qmp_thread; /* sends commands to the monitor */
    /* The socket of the guest's port; of the one to add, as QEMU names it, or NULL. */
    const char *port, *added;
    const char *port_id;      /* of the guest's port, in QEMU's events; NULL: it has none */
    const char *port_chardev; /* attached: of the guest's port; NULL: QEMU is not asked about it */
    uint64_t ask_at;          /* attached: QEMU is not asked about it before that */
    bool is_port_closed;      /* … and what it has answered */
    struct qemu_place place;  /* of the files between this process and a running QEMU */
    char *fifo_in_domain;     /* of the log, in the directory of libvirt's domain; NULL */
    const char *fifo_left; /* the FIFO in the domain or in the place, for a later recorder; NULL */
    const char *stop_reason; /* why libvirt's domain has stopped; NULL */
    const char *log_to;      /* the FIFO that QEMU logs to … */
    const char *simple_to;   /* … or the file for simpletrace */
    const char *no_log;  /* attached: why its log cannot be recorded, unless it is found; NULL */
    int found_log;       /* attached: the file that QEMU has logged a line to; -1 */
    bool has_logged;     /* attached: QEMU was made to log a line */
    pid_t log_sharer;    /* attached: another QEMU that logs to the same file; 0: none */
    bool has_moved_log;  /* attached: its log went elsewhere while it was recorded */
    const char *control; /* the name of the control socket for other clients */
    struct manifest_moment began, ended;
    struct child child; /* the started command, or the process attached to … */
    struct child
        qemu; /* … and QEMU, if the command started it; pid 0: the command is QEMU, or QEMU has not connected */
    struct children others; /* children of this process from before */
    int line; /* a pipe: at its end when all processes of the command have ended or closed it; -1 */
    int claim; /* of qemu_process_claim() */
    bool reads_rings;
    bool is_refused;               /* QEMU refused to write events, or to add the port */
    bool looks_for_left, had_left; /* `left` is not searched yet; there was something */
    bool is_left_changed;          /* QEMU's settings could not be restored */
    bool has_come;                 /* QEMU's monitor has answered */
    bool is_ended;                 /* by the recorder, as the recording could not go on */
    bool is_stopping;              /* QEMU gets SIGTERM when the guest has sent the rest */
    unsigned n_halts;              /* of the monitor's, that are reported */
    bool is_arrival_noted;         /* whether a migration brought the machine is known */
    bool is_departure_noted;       /* a migration has taken it away, as the guest was told */
    bool is_loss_reported;         /* that the guest's agent is missing */
    unsigned n_resets;             /* of the monitor's, that are noted; … */
    unsigned boots_at_reset; /* … the boots of the guest at the last one; 0: not traced yet */
    uint64_t step_at;        /* when step() is due */
    uint64_t ended_at;       /* when QEMU's end was seen; 0: it was not */
    uint64_t rest_by;        /* until then the recorder waits for what the guest still sends */
    uint64_t
        come_by; /* until then, it waits for QEMU after the program that starts QEMU has ended */
    uint64_t
        stop_by; /* with is_stopping: when QEMU gets SIGTERM at the latest; UINT64_MAX: it has got it */
    uint64_t start_by;       /* until then, a QEMU that is starting does not get it */
    uint64_t again_at;       /* when it gets the next signal; UINT64_MAX: it has got none yet */
    uint64_t remind_at;      /* when the recorder prints how to kill it; UINT64_MAX: never */
    const char *simple_copy; /* where its user has trace.simple; NULL: nowhere */
    uint64_t simple_size;    /* of trace.simple, at the last check */
    uint64_t simple_at;      /* when its size is checked again, unless it is full */
    bool simple_is_full;     /* it has reached max_size */
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
/* Records the log that QEMU has been found to write: FD, from its offset on, which is taken over. */
int qemu_use_log(struct qemu_recorder *self, int fd, struct error *error);
/* Starts the recorder of the guest's kernel, if there is one and the guest has a port for the agent. */
int qemu_join_guest(struct qemu_recorder *self, struct error *error);
/* Of struct qemu_monitor: tells the guest's recorder, if there is one. USERDATA is the recorder. */
void qemu_on_pause(void *userdata, const struct qemu_pause *pause);
/* Of struct qemu_monitor: reports it. USERDATA is the recorder. */
void qemu_on_event(void *userdata, const char *name, const json_t *data);
/* The socket of the domain's port for the agent. 1: *RET is it; 0: it has none. -errno with ERROR. */
int qemu_find_domain_port(struct qemu_recorder *self, const char **ret, struct error *error);
/* Removes the files that the recorder has made in its recording's directory. */
void qemu_remove_files(struct qemu_recorder *self);

/* ---- Its process, and its end (stop.c) ---- */

/* Whether QEMU and the command that started it have ended. */
bool qemu_has_ended(struct qemu_recorder *self);
/* Sends SIGNAL to QEMU, or to the command while QEMU is not known or cannot be signalled. */
void qemu_signal(const struct qemu_recorder *self, int signal);
/* Notes which process QEMU is, after its monitor has connected. */
void qemu_connected(struct qemu_recorder *self);
uint64_t qemu_stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now);
/* Tells QEMU to end when that is due. Whether one that ran already is to be left now. */
bool qemu_stop_step(struct qemu_recorder *self, uint64_t now);
/* When the next call of that is due. */
uint64_t qemu_next_pursuit(const struct qemu_recorder *self, uint64_t now);
/* Reports that its process is stopped by a signal, which QEMU itself cannot. */
void qemu_report_halt(struct qemu_recorder *self);
/* Reports that the guest's agent is missing although its machine runs. *NEXT: when the next call is due, if that is earlier. */
void qemu_report_loss(struct qemu_recorder *self, uint64_t now, uint64_t *next);
/* Notes which boot of the guest ends if the machine has been reset. */
void qemu_note_reset(struct qemu_recorder *self);
/* Tells the guest's recorder when a migration brought the machine here, or took it away. */
void qemu_note_migration(struct qemu_recorder *self);
/* Whether the guest was traced, and its agent has not returned since the machine was reset. */
bool qemu_lost_agent(const struct qemu_recorder *self);
/* What readers of the trace should know, at the end. */
void qemu_note_problems(struct qemu_recorder *self);

/* ---- What it writes (recorder.c) ---- */

/* Reads what the monitor, or libvirt, has reported of the machine until now. */
void qemu_read_machine(struct recorder *recorder);
/* Reads what there is. *RET_NEXT: when the next call is due. -ENOMEM with ERROR: the recording cannot go on. */
int qemu_read(struct qemu_recorder *self, uint64_t now, uint64_t *ret_next, struct error *error);

/* ---- The manifest (sources.c) ---- */

/* How long, until it ended or is no longer recorded, the machine was paused (not where it migrated away), and QEMU's process
 * was stopped by signals. */
uint64_t qemu_paused_ns(const struct qemu_recorder *self, uint64_t until);
uint64_t qemu_stopped_ns(const struct qemu_recorder *self, uint64_t until);
/* How QEMU ended, and why if its monitor reported that; NULL: it has not. */
const char *qemu_exit_text(const struct qemu_recorder *self, char *buf, size_t size);
int qemu_sources(const struct recorder *recorder, struct arena *arena,
                 struct recorder_sources *ret);
