/* SPDX-License-Identifier: MIT */
#pragma once

/* A recording of a QEMU that runs already: what is changed in it for that, by its monitor, and put back at the end. */

#include "record/qemu/internal.h"

/* Begins to change it, when all that it is to write to is there. -errno with ERROR. */
int qemu_attach(struct qemu_recorder *self, struct error *error);
/* Begins to put back what was changed. */
void qemu_restore(struct qemu_recorder *self);
/* The next phase, if the QMP commands of this one have ended. -errno with ERROR: nothing can be done with its monitor. */
int qemu_attach_step(struct qemu_recorder *self, uint64_t now, struct error *error);
/* Whether it is attached to, or was. */
bool qemu_is_attached(const struct qemu_recorder *self);
/* If the recording ends early: ends the QMP commands, and restores what was changed. */
void qemu_leave(struct qemu_recorder *self);

/* The file that QEMU's log goes to, to be written on; -1: that cannot be. */
int qemu_attach_log(const struct qemu_process *running);
