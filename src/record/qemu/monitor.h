/* SPDX-License-Identifier: MIT */
#pragma once

/* Uses QEMU's monitor during a recording to learn which threads run which vCPUs, and why QEMU ends. No function here
 * waits for QEMU, because QEMU may be waiting for the reader of its log. */

#include <jansson.h>

#include "base/error.h"
#include "tracedir/manifest.h"

struct qmp;

/* A pause of the machine, CLOCK_MONOTONIC in ns. The machine stopped at or before `stopped`, and resumed at or after
 * `resumed`. */
struct qemu_pause {
    uint64_t stopped, resumed; /* resumed 0: still paused */
};

struct qemu_monitor {
    int listener;    /* socket to which QEMU connects; -1: none */
    struct qmp *qmp; /* NULL: not connected, or not any more */
    int pid;         /* 0: unknown yet */
    enum {
        MONITOR_NEW,    /* no greeting yet */
        MONITOR_IDLE,   /* everything is answered */
        MONITOR_ENTERS, /* waits for the answer to qmp_capabilities */
        MONITOR_ASKS,   /* waits for the answer to query-cpus-fast or another command */
    } state;
    bool answers;       /* QEMU has answered, so it handles signals and reports its end */
    bool ends;          /* set by the caller: send no more commands */
    bool wants_cpus;    /* send query-cpus-fast when it is idle */
    bool wants_silence; /* set by the caller: close simpletrace's file when it is idle */
    struct manifest_thread *threads; /* all threads that were seen */
    unsigned n_threads, room;
    char version[128];
    char shutdown[64];         /* the reason in the event SHUTDOWN */
    uint64_t last_reset;       /* when the machine was last reset */
    uint64_t last_reset_event; /* when QEMU last reported a reset */
    uint64_t cpu_at_reset;     /* QEMU's CPU time at `last_reset`, ns; 0: unknown */
    unsigned resets;           /* resets of the machine since the begin */
    unsigned n_halts;          /* how often a signal stopped its process, checked each second */
    bool is_halted;
    /* `last_reset_event` was caused by the firmware, after `last_reset` */
    bool is_reset_by_firmware;
    bool is_traced;           /* at the last check, another process held QEMU by ptrace */
    bool is_paused;           /* QEMU reports that the machine is paused */
    uint64_t traced_cpu_time; /* CPU time of QEMU at that check */
    uint64_t halted_at;       /* since when the process is stopped */
    /* How long the process was stopped before. The machine is then stopped too, and QEMU cannot report it. */
    uint64_t halted_ns;
    /* when the machine began to run, by the first RESUME; 0: none came */
    uint64_t began_to_run;
    uint64_t next_status;    /* when to ask for the status again during a migration */
    bool wants_status;       /* send query-status when idle, to learn why the machine is paused */
    bool is_migrating;       /* a migration is being completed; ask for the status again */
    bool is_migrated;        /* the guest runs in another QEMU now */
    struct qemu_pause pause; /* the last one */
    unsigned n_pauses;       /* including a pause that has not ended */
    uint64_t paused_ns;      /* total time of pauses that have ended */
    /* Called when a pause begins and when it ends; may be NULL. Set by the caller. */
    void (*on_pause)(void *userdata, const struct qemu_pause *pause);
    /* Called for each event of QMP with its data or NULL; may be NULL. Set by the caller. */
    void (*on_event)(void *userdata, const char *name, const json_t *data);
    void *userdata;
    uint64_t next;              /* when to check its threads again */
    bool changed;               /* something above has changed since the caller cleared this */
    bool is_reading, no_memory; /* state of qemu_monitor_read() */
};

/* True if the machine is paused at UNTIL (CLOCK_MONOTONIC, ns) for another reason than QEMU's end. From version 10 on,
 * QEMU stops the machine and reports that after the event SHUTDOWN, just before it exits. */
bool qemu_monitor_stands_still(const struct qemu_monitor *monitor, uint64_t until);

/* Creates the socket PATH, to which QEMU's monitor connects. PID: of QEMU; 0: known when it connects. */
int qemu_monitor_listen(const char *path, int pid, struct qemu_monitor *ret, struct error *error);
/* The same for process PID without a connection. The caller passes on what it learns (qemu_monitor_note()). */
void qemu_monitor_watch(int pid, struct qemu_monitor *ret);
/* Notes VERSION ("QEMU 7.2.22") and LIST, the result of query-cpus-fast. */
void qemu_monitor_note(struct qemu_monitor *monitor, const char *version, const json_t *list);
/* Notes an event of a machine without a connection: STOP, RESUME or RESET. REALTIME_US: its time of day in us; 0:
 * now. */
void qemu_monitor_event(struct qemu_monitor *monitor, const char *event, const json_t *data,
                        int64_t realtime_us);
/* Notes ANSWER, the result of query-status. */
void qemu_monitor_note_status(struct qemu_monitor *monitor, const json_t *answer);
/* Handles what QEMU has sent until now, and sends nothing. */
void qemu_monitor_read(struct qemu_monitor *monitor);
/* Handles what QEMU has sent, and sends commands that are due. *RET_SLEEP: ns until the next call is due. -ENOMEM with
 * ERROR: answers are no longer read, so the recorder cannot know when QEMU handles SIGTERM. */
int qemu_monitor_step(struct qemu_monitor *monitor, uint64_t now, uint64_t *ret_sleep,
                      struct error *error);
/* True if a command is not answered yet. */
bool qemu_monitor_is_asked(const struct qemu_monitor *monitor);
/* The descriptor to poll for reading; -1: not connected any more. */
int qemu_monitor_fd(const struct qemu_monitor *monitor);
/* Reads the list of threads again. The process must still run. */
void qemu_monitor_look(struct qemu_monitor *monitor);
void qemu_monitor_done(struct qemu_monitor *monitor);
