/* SPDX-License-Identifier: MIT */
#pragma once

/* QEMU's monitor during a recording: which threads run which vCPUs, and why QEMU ends. No function here waits for QEMU,
 * because QEMU may be waiting for the reader of its log. */

#include <jansson.h>

#include "base/error.h"
#include "tracedir/manifest.h"

struct qmp;

/* A pause of the machine, in ns of CLOCK_MONOTONIC. The machine may have stopped before, and resumed after these times. */
struct qemu_pause {
    uint64_t stopped, resumed; /* resumed 0: it is still paused */
};

struct qemu_monitor {
    int listener;    /* where it connects to; -1: nowhere */
    struct qmp *qmp; /* NULL: there is no connection, or none any more */
    int pid;         /* 0: not known yet */
    enum {
        MONITOR_NEW,    /* no greeting yet */
        MONITOR_IDLE,   /* has answered all */
        MONITOR_ENTERS, /* qmp_capabilities is asked for */
        MONITOR_ASKS,   /* query-cpus-fast, or what else the monitor wants to know, is asked for */
    } state;
    bool answers;       /* has answered: so QEMU handles signals, and reports its end */
    bool ends;          /* set by the caller: send no more commands */
    bool wants_cpus;    /* send query-cpus-fast when it is idle */
    bool wants_silence; /* set by the caller: close simpletrace's file when it is idle */
    struct manifest_thread *threads; /* all that were seen */
    unsigned n_threads, room;
    char version[128];
    char shutdown[64];         /* the reason, of the event SHUTDOWN */
    uint64_t last_reset;       /* when the machine was reset last, */
    uint64_t last_reset_event; /* when QEMU's last event of a reset was */
    uint64_t cpu_at_reset;     /* QEMU's CPU time at `last_reset`, ns; 0: not known */
    unsigned resets;           /* of the machine, since it began */
    unsigned n_halts; /* how often its process was stopped by a signal, looked at each second: … */
    bool is_halted;
    bool is_reset_by_firmware; /* `last_reset_event` was of the firmware, after `last_reset` */
    bool is_traced;            /* at the last look, another process held it by ptrace; … */
    bool is_paused;            /* QEMU says so */
    uint64_t traced_cpu_time;  /* … and its CPU time then */
    uint64_t halted_at;        /* … since when it is, and … */
    uint64_t
        halted_ns; /* … how long it was before. The machine stands still then, and QEMU cannot say so */
    uint64_t began_to_run;   /* the machine, by the first RESUME; 0: none came */
    uint64_t next_status;    /* when to ask for the status again, while it migrates */
    bool wants_status;       /* send query-status when it is idle: why it is paused */
    bool is_migrating;       /* sends the rest of it: its status is asked for again */
    bool is_migrated;        /* its guest runs in another QEMU now */
    struct qemu_pause pause; /* the last one */
    unsigned n_pauses;       /* including one that has not ended … */
    uint64_t paused_ns;      /* … and their total time, of those that have ended */
    /* Called when a pause begins and when it ends; may be NULL. Set by the caller. */
    void (*on_pause)(void *userdata, const struct qemu_pause *pause);
    /* Called for each event of QMP, with its data, or NULL; may be NULL. Set by the caller. */
    void (*on_event)(void *userdata, const char *name, const json_t *data);
    void *userdata;
    uint64_t next;              /* when to look at its threads again */
    bool changed;               /* something above, since the caller cleared this */
    bool is_reading, no_memory; /* of qemu_monitor_read() */
};

/* Whether the machine is paused at UNTIL, in ns of CLOCK_MONOTONIC, and for another reason than that QEMU ends: from version
 * 10 on, QEMU stops the machine and reports that after the event SHUTDOWN, just before it exits. */
bool qemu_monitor_stands_still(const struct qemu_monitor *monitor, uint64_t until);

/* Creates the socket PATH, to which QEMU's monitor connects. PID: of QEMU; 0: known when it connects. */
int qemu_monitor_listen(const char *path, int pid, struct qemu_monitor *ret, struct error *error);
/* The same of process PID without a connection: the caller passes on what it learns (qemu_monitor_note()). */
void qemu_monitor_watch(int pid, struct qemu_monitor *ret);
/* VERSION: "QEMU 7.2.22". LIST: the result of query-cpus-fast. */
void qemu_monitor_note(struct qemu_monitor *monitor, const char *version, const json_t *list);
/* An event of a machine without a connection: STOP, RESUME or RESET, with its time of day in us; 0: now. */
void qemu_monitor_event(struct qemu_monitor *monitor, const char *event, const json_t *data,
                        int64_t realtime_us);
/* ANSWER: the result of query-status. */
void qemu_monitor_note_status(struct qemu_monitor *monitor, const json_t *answer);
/* Handles what QEMU has sent until now, and no more. */
void qemu_monitor_read(struct qemu_monitor *monitor);
/* Handles what QEMU sent. *RET_SLEEP: ns until the next call is due. -ENOMEM with ERROR: answers are no longer read, so
 * the recorder cannot know when QEMU handles SIGTERM. */
int qemu_monitor_step(struct qemu_monitor *monitor, uint64_t now, uint64_t *ret_sleep,
                      struct error *error);
/* Whether a command has not been answered yet. */
bool qemu_monitor_is_asked(const struct qemu_monitor *monitor);
/* The descriptor to poll for reading; -1: none any more. */
int qemu_monitor_fd(const struct qemu_monitor *monitor);
/* Reads the list of threads again, while the process runs. */
void qemu_monitor_look(struct qemu_monitor *monitor);
void qemu_monitor_done(struct qemu_monitor *monitor);
