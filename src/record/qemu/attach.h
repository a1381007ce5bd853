/* SPDX-License-Identifier: MIT */
#pragma once

/* Attaches the recorder to a running QEMU: changes its settings by its monitor, and restores them at the end. */

#include "record/qemu/internal.h"

/* Begins to change QEMU's settings. All files that QEMU will write to must exist. -errno with ERROR. */
int qemu_attach(struct qemu_recorder *self, struct error *error);
/* Begins to restore what was changed. */
void qemu_restore(struct qemu_recorder *self);
/* Enters the next phase if the QMP commands of the present phase have ended. -errno with ERROR: QEMU's monitor cannot
 * be used. */
int qemu_attach_step(struct qemu_recorder *self, uint64_t now, struct error *error);
/* True if the recorder is or was attached to QEMU. */
bool qemu_is_attached(const struct qemu_recorder *self);
/* Call it if the recording ends early. Ends the QMP commands, and restores what was changed. */
void qemu_leave(struct qemu_recorder *self);

/* Opens the file that QEMU logs to, for writing. -1: impossible. */
int qemu_attach_log(const struct qemu_process *running);
