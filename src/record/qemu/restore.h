/* SPDX-License-Identifier: MIT */
#pragma once

/* Changes settings of a running QEMU by its monitor so that it can be recorded, and restores them afterwards: which
 * events are on, where they go, a port of its guest. */

#include "base/arena.h"
#include "base/error.h"
#include "control/qmp.h"

struct registry_entry;

/* The ID of the chardev of an added port. */
#define QEMU_RESTORE_CHARDEV "strata-agent"
/* The event that QEMU emits for each command of its monitor before it answers. Source: QEMU 7.2, 10.0 and 11.1. */
#define QEMU_RESTORE_EVENT "monitor_qmp_cmd_in_band"

struct qemu_restore {
    struct arena arena;
    pid_t pid;
    /* Borrowed: what must be restored is written there before it is changed (record/qemu/leftover.h); NULL: nowhere. */
    const struct registry_entry *entry;
    json_t *states;             /* earlier states of all events; NULL: unchanged */
    const char *log;            /* earlier file of the log; NULL: unchanged */
    const char *simple;         /* earlier file of simpletrace; NULL: unchanged */
    bool simple_was_on;         /* simpletrace was being written to it */
    const char *kept;           /* name that the file was renamed to, because QEMU truncates it */
    bool chardev, serial, port; /* which of these were added */
    bool domain_port;           /* libvirt was asked to add the guest's port, and must remove it */
    const char *fifo;           /* FIFO of the log in the domain's directory; NULL: none */
};

/* Sends the log to PATH instead of BEFORE (NULL: standard error). -EREMOTE with ERROR: QEMU refuses, and writes no log
 * until this is restored. */
int qemu_restore_log(struct qemu_restore *changes, struct qmp *qmp, const char *path,
                     const char *before, struct error *error);
/* The same for the file of the backend simple. */
int qemu_restore_simple(struct qemu_restore *changes, struct qmp *qmp, const char *path,
                        struct error *error);
/* Switches on the events that the N PATTERNS match. A pattern with '-' in front switches off. */
int qemu_restore_events(struct qemu_restore *changes, struct qmp *qmp, const char *const *patterns,
                        unsigned n, struct error *error);
/* Makes QEMU log a line of QEMU_RESTORE_EVENT, whatever events are on. -errno with ERROR. */
int qemu_restore_log_line(struct qemu_restore *changes, struct qmp *qmp, struct error *error);
/* Adds the virtio-serial port NAME, whose other end is the socket PATH, and its device if the machine has none. */
int qemu_restore_port(struct qemu_restore *changes, struct qmp *qmp, const char *name,
                      const char *path, struct error *error);
/* Notes which parts of such a port QEMU has from an earlier recorder. -errno with ERROR: QEMU does not say. */
int qemu_restore_find_port(struct qemu_restore *changes, struct qmp *qmp, struct error *error);
/* Restores everything that was changed, even after a failure, and returns the first error. A port that the guest does
 * not release stays. */
int qemu_restore_undo(struct qemu_restore *changes, struct qmp *qmp, struct error *error);
/* True if something must be restored. */
bool qemu_restore_is_due(const struct qemu_restore *changes);
void qemu_restore_done(struct qemu_restore *changes);
