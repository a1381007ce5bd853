/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files that implement the recorder of QEMU (record/qemu/recorder.h). */

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
    QEMU_ADDS_PORT,       /* attached: adds a port for the guest's agent */
    QEMU_FINDS_LOG,       /* attached: finds the file that QEMU logs to */
    QEMU_SWITCHES_EVENTS, /* attached: switches events on */
    QEMU_RUNS,
    QEMU_SENDS_REST, /* waits for the remaining data of the guest */
    QEMU_RESTORES,   /* attached: restores what was changed */
    QEMU_IS_OVER,
};

struct qemu_recorder {
    struct recorder recorder;
    struct qemu_recorder_settings settings;
    enum qemu_phase phase;
    struct arena arena;
    struct qemu_log_input log; /* for the backend log */
    struct qemu_clock clock;   /* for the backend log */
    /* For the backend ring: the rings of QEMU and of the programs that QEMU starts. */
    struct programs programs;
    char *variable; /* the environment variable for the rings */
    struct qemu_monitor monitor;
    struct qemu_restore changes;  /* attached: what to restore */
    struct qemu_restore left;     /* changes that a killed recorder left; restored first */
    struct error left_error;      /* why some of `left` could not be restored */
    struct qmp_thread qmp_thread; /* sends commands to the monitor */
    /* The socket of the guest's port; the socket of the port to be added, as QEMU names it, or NULL. */
    const char *port, *added;
    const char *port_id; /* ID of the guest's port in QEMU's events, or NULL */
    /* attached: ID of the chardev of the guest's port; NULL: QEMU is not asked about it */
    const char *port_chardev;
    uint64_t ask_at;         /* attached: when to ask QEMU about the port again, at the earliest */
    bool is_port_closed;     /* attached: QEMU's last answer about the port */
    struct qemu_place place; /* place of the files between this process and a running QEMU */
    char *fifo_in_domain;    /* FIFO of the log in the directory of libvirt's domain, or NULL */
    /* FIFO in the domain or the place, for a later recorder to remove; NULL */
    const char *fifo_left;
    const char *stop_reason; /* why libvirt's domain has stopped, or NULL */
    const char *log_to;      /* the FIFO that QEMU logs to */
    const char *simple_to;   /* the file that QEMU writes simpletrace to */
    /* attached: why the log cannot be recorded, unless its file is found; NULL */
    const char *no_log;
    int found_log;       /* attached: the file to which QEMU has logged a line; -1 */
    bool has_logged;     /* attached: QEMU was made to log a line */
    pid_t log_sharer;    /* attached: another QEMU that logs to the same file; 0: none */
    bool has_moved_log;  /* attached: the log went elsewhere during the recording */
    const char *control; /* path of the control socket for other clients */
    struct manifest_moment began, ended;
    struct child child; /* the started command, or the attached process */
    /* QEMU, if the command started it; pid 0: the command is QEMU, or QEMU has not connected. */
    struct child qemu;
    struct children others; /* earlier children of this process */
    /* A pipe that ends when all processes of the command have ended or closed it; -1. */
    int line;
    int claim; /* of qemu_process_claim() */
    bool reads_rings;
    bool is_refused;               /* QEMU refused to write events, or to add the port */
    bool looks_for_left, had_left; /* `left` is not searched yet; something was left */
    bool is_left_changed;          /* QEMU's settings could not be restored */
    bool has_come;                 /* QEMU's monitor has answered */
    bool is_ended;         /* the recorder ended QEMU because the recording could not continue */
    bool is_stopping;      /* QEMU gets SIGTERM when the guest has sent its remaining data */
    unsigned n_halts;      /* halts of the monitor that were reported */
    bool is_arrival_noted; /* it is known whether a migration brought the machine */
    /* the guest's recorder was told that a migration took the machine away */
    bool is_departure_noted;
    bool is_loss_reported;   /* it was reported that the guest's agent is missing */
    unsigned n_resets;       /* resets of the monitor that were noted */
    unsigned boots_at_reset; /* boots of the guest at the last reset; 0: not traced yet */
    uint64_t step_at;        /* when step() is due */
    uint64_t ended_at;       /* when QEMU's end was seen; 0: not seen */
    uint64_t rest_by;        /* how long the recorder waits for remaining data of the guest */
    /* How long the recorder waits for QEMU after the program that starts QEMU has ended. */
    uint64_t come_by;
    /* With is_stopping: when QEMU gets SIGTERM at the latest; UINT64_MAX: it got SIGTERM. */
    uint64_t stop_by;
    uint64_t start_by;       /* a starting QEMU does not get SIGTERM before */
    uint64_t again_at;       /* when QEMU gets the next signal; UINT64_MAX: it got none yet */
    uint64_t remind_at;      /* when to print how to kill QEMU; UINT64_MAX: never */
    const char *simple_copy; /* where QEMU's user wanted trace.simple; NULL: nowhere */
    uint64_t simple_size;    /* size of trace.simple at the last check */
    uint64_t simple_at;      /* when to check its size again, unless it is full */
    bool simple_is_full;     /* trace.simple has reached max_size */
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
/* Records the log that QEMU was found to write: FD, from its offset. Takes over FD. */
int qemu_use_log(struct qemu_recorder *self, int fd, struct error *error);
/* Starts the recorder of the guest's kernel, if there is one and the guest has a port for the agent. */
int qemu_join_guest(struct qemu_recorder *self, struct error *error);
/* For struct qemu_monitor: tells the guest's recorder, if any. USERDATA is the recorder. */
void qemu_on_pause(void *userdata, const struct qemu_pause *pause);
/* For struct qemu_monitor: reports the event. USERDATA is the recorder. */
void qemu_on_event(void *userdata, const char *name, const json_t *data);
/* Finds the socket of the domain's port for the agent. Returns 1 with *RET, or 0 if the domain has no such port. -errno
 * with ERROR. */
int qemu_find_domain_port(struct qemu_recorder *self, const char **ret, struct error *error);
/* Removes the files that the recorder has created in its recording's directory. */
void qemu_remove_files(struct qemu_recorder *self);

/* ---- Its process, and its end (stop.c) ---- */

/* True if QEMU and the command that started it have ended. */
bool qemu_has_ended(struct qemu_recorder *self);
/* Sends SIGNAL to QEMU, or to the command while QEMU is unknown or cannot be signalled. */
void qemu_signal(const struct qemu_recorder *self, int signal);
/* Notes which process QEMU is. Call it after its monitor has connected. */
void qemu_connected(struct qemu_recorder *self);
uint64_t qemu_stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now);
/* Tells QEMU to end when that is due. True if an attached QEMU must be left now. */
bool qemu_stop_step(struct qemu_recorder *self, uint64_t now);
/* When to call qemu_stop_step() next. */
uint64_t qemu_next_pursuit(const struct qemu_recorder *self, uint64_t now);
/* Reports that QEMU's process is stopped by a signal, which QEMU itself cannot report. */
void qemu_report_halt(struct qemu_recorder *self);
/* Reports that the guest's agent is missing although its machine runs. *NEXT: lowered to the time of the next call. */
void qemu_report_loss(struct qemu_recorder *self, uint64_t now, uint64_t *next);
/* Notes which boot of the guest ends when the machine has been reset. */
void qemu_note_reset(struct qemu_recorder *self);
/* Tells the guest's recorder when a migration brought the machine here or took it away. */
void qemu_note_migration(struct qemu_recorder *self);
/* True if the guest was traced and its agent has not returned since the machine was reset. */
bool qemu_lost_agent(const struct qemu_recorder *self);
/* Adds problems that readers of the trace should know. Call it at the end. */
void qemu_note_problems(struct qemu_recorder *self);

/* ---- What it writes (recorder.c) ---- */

/* Reads what the monitor or libvirt has reported of the machine until now. */
void qemu_read_machine(struct recorder *recorder);
/* Reads available data. *RET_NEXT: when the next call is due. -ENOMEM with ERROR: the recording cannot continue. */
int qemu_read(struct qemu_recorder *self, uint64_t now, uint64_t *ret_next, struct error *error);

/* ---- The manifest (sources.c) ---- */

/* How long the machine was paused (not because it migrated away), and how long QEMU's process was stopped by signals,
 * until its end or the end of the recording. */
uint64_t qemu_paused_ns(const struct qemu_recorder *self, uint64_t until);
uint64_t qemu_stopped_ns(const struct qemu_recorder *self, uint64_t until);
/* How QEMU ended, and why if its monitor reported that. NULL: it has not ended. */
const char *qemu_exit_text(const struct qemu_recorder *self, char *buf, size_t size);
int qemu_sources(const struct recorder *recorder, struct arena *arena,
                 struct recorder_sources *ret);
