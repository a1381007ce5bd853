/* SPDX-License-Identifier: MIT */
#pragma once

/* What is changed in a QEMU that runs so that it can be recorded, by its monitor, and put back afterwards: which events
 * are on, where they go, a port of its guest. */

#include "base/arena.h"
#include "base/fault.h"
#include "client/qmp.h"

struct vmm_changes {
    struct arena arena;
    pid_t pid;
    json_t *states;             /* of all events before; NULL: they are as they were */
    const char *log;            /* where the log went before; NULL: it goes there still */
    const char *simple;         /* the same of simpletrace's file … */
    bool simple_was_on;         /* … and whether it was written */
    const char *kept;           /* … and under what name that was put, as QEMU begins it anew */
    bool chardev, serial, port; /* were added */
};

/* The log goes to PATH, in place of BEFORE (NULL: standard error). -EREMOTE with FAULT: QEMU does not want
 * that. */
int vmm_changes_log(struct vmm_changes *changes, struct qmp *qmp, const char *path,
                    const char *before, struct fault *fault);
/* The same of the file of the backend simple. */
int vmm_changes_simple(struct vmm_changes *changes, struct qmp *qmp, const char *path,
                       struct fault *fault);
/* Switches on the events that PATTERNS, N of them, match; one with a '-' in front switches off. */
int vmm_changes_events(struct vmm_changes *changes, struct qmp *qmp, const char *const *patterns,
                       unsigned n, struct fault *fault);
/* A virtio-serial port NAME, whose other end is the socket PATH; with a device for it where the machine has
 * none. */
int vmm_changes_port(struct vmm_changes *changes, struct qmp *qmp, const char *name,
                     const char *path, struct fault *fault);
/* Puts back what was changed, all of it, whatever fails; the first fault is told. A port that the guest does not let
 * go of stays. */
int vmm_changes_undo(struct vmm_changes *changes, struct qmp *qmp, struct fault *fault);
void vmm_changes_done(struct vmm_changes *changes);
