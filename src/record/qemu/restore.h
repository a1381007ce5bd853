/* SPDX-License-Identifier: MIT */
#pragma once

/* What is changed in a QEMU that runs so that it can be recorded, by its monitor, and put back afterwards: which events
 * are on, where they go, a port of its guest. */

#include "base/arena.h"
#include "base/error.h"
#include "control/qmp.h"

struct registry_entry;

/* The ID of the chardev of a port that is added. */
#define QEMU_RESTORE_CHARDEV "strata-agent"
/* QEMU's event of each command of its monitor, before it answers. Source: QEMU 7.2, 10.0 and 11.1. */
#define QEMU_RESTORE_EVENT "monitor_qmp_cmd_in_band"

struct qemu_restore {
    struct arena arena;
    pid_t pid;
    /* Borrowed: what is to be put back is written there before it is changed (record/qemu/leftover.h); NULL: nowhere. */
    const struct registry_entry *entry;
    json_t *states;             /* of all events before; NULL: they are as they were */
    const char *log;            /* where the log went before; NULL: it goes there still */
    const char *simple;         /* the same of simpletrace's file … */
    bool simple_was_on;         /* … and whether it was written */
    const char *kept;           /* … and the name that it was renamed to, as QEMU truncates it */
    bool chardev, serial, port; /* were added */
    bool domain_port; /* libvirt was asked to add the guest's port, and has to remove it */
    const char *fifo; /* of the log, in the domain's directory; NULL: none */
};

/* The log goes to PATH, in place of BEFORE (NULL: standard error). -EREMOTE with ERROR: QEMU does not want
 * that, and writes no log until it is put back. */
int qemu_restore_log(struct qemu_restore *changes, struct qmp *qmp, const char *path,
                     const char *before, struct error *error);
/* The same of the file of the backend simple. */
int qemu_restore_simple(struct qemu_restore *changes, struct qmp *qmp, const char *path,
                        struct error *error);
/* Switches on the events that PATTERNS, N of them, match; one with a '-' in front switches off. */
int qemu_restore_events(struct qemu_restore *changes, struct qmp *qmp, const char *const *patterns,
                        unsigned n, struct error *error);
/* Has QEMU log a line of QEMU_RESTORE_EVENT, whatever events are on. -errno with ERROR. */
int qemu_restore_log_line(struct qemu_restore *changes, struct qmp *qmp, struct error *error);
/* A virtio-serial port NAME, whose other end is the socket PATH; with a device for it where the machine has
 * none. */
int qemu_restore_port(struct qemu_restore *changes, struct qmp *qmp, const char *name,
                      const char *path, struct error *error);
/* Notes which parts of such a port QEMU has, of an earlier recorder. -errno with ERROR: it does not say. */
int qemu_restore_find_port(struct qemu_restore *changes, struct qmp *qmp, struct error *error);
/* Restores everything that was changed, also after a failure; returns the first error. A port that the guest does not
 * release stays. */
int qemu_restore_undo(struct qemu_restore *changes, struct qmp *qmp, struct error *error);
/* Whether there is something to put back. */
bool qemu_restore_is_due(const struct qemu_restore *changes);
void qemu_restore_done(struct qemu_restore *changes);
