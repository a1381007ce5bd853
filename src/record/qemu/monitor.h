/* SPDX-License-Identifier: MIT */
#pragma once

/* QEMU's monitor while it is recorded: which of its threads run which vCPUs, and why it ends. Nothing here
 * waits for QEMU, which may itself be waiting for the reader of its log. */

#include <jansson.h>

#include "base/error.h"
#include "tracedir/manifest.h"

struct qmp;

/* The machine stood still from the one time to the other, CLOCK_MONOTONIC in ns: at least then. */
struct qemu_pause {
    uint64_t stopped, resumed; /* resumed 0: it has not gone on */
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
    bool answers;       /* has answered: so it has caught signals, and tells of its end */
    bool ends;          /* is to be asked nothing more: for the caller to set */
    bool wants_cpus;    /* to be asked for when it is idle */
    bool wants_silence; /* simpletrace's file is to be closed then: for the caller to set */
    struct manifest_thread *threads; /* all that were seen */
    unsigned n_threads, room;
    char version[128];
    char shutdown[64]; /* the reason, of the event SHUTDOWN */
    unsigned resets;   /* of the machine, since it began */
    bool is_paused;
    bool wants_status;       /* why it is paused is to be asked for */
    bool is_migrating;       /* sends the rest of it: its status is asked for again */
    bool is_migrated;        /* away: its guest goes on elsewhere */
    uint64_t next_status;    /* when to ask for the status again, while it migrates */
    struct qemu_pause pause; /* the last one */
    unsigned n_pauses;       /* that have ended, or not … */
    uint64_t paused_ns;      /* … and in all, of those that have ended */
    /* Is called at each of these; may be NULL. Set by the caller. */
    void (*on_pause)(void *userdata, const struct qemu_pause *pause);
    void *userdata;
    uint64_t next; /* when to look at its threads again */
    bool changed;  /* of the above something, since the caller cleared this */
};

/* Makes the socket PATH, for a monitor to connect to: whose it is shows then. PID: whose it will be; 0: not known. */
int qemu_monitor_listen(const char *path, int pid, struct qemu_monitor *ret, struct error *error);
/* Without a connection: of process PID, what others find out. */
void qemu_monitor_watch(int pid, struct qemu_monitor *ret);
/* VERSION and LIST are what the monitor of that said: "QEMU 7.2.22", and what query-cpus-fast returned. */
void qemu_monitor_note(struct qemu_monitor *monitor, const char *version, const json_t *list);
/* Takes what came. *RET_SLEEP: until it wants to be called again, ns. -ENOMEM with ERROR: the monitor will not answer any
 * more, so nothing shows when QEMU can be told to end. */
int qemu_monitor_step(struct qemu_monitor *monitor, uint64_t now, uint64_t *ret_sleep,
                      struct error *error);
/* Whether it owes an answer. */
bool qemu_monitor_is_asked(const struct qemu_monitor *monitor);
/* To be polled for reading; -1: no more. */
int qemu_monitor_fd(const struct qemu_monitor *monitor);
/* Looks at the threads once more, while the process is there. */
void qemu_monitor_look(struct qemu_monitor *monitor);
void qemu_monitor_done(struct qemu_monitor *monitor);
