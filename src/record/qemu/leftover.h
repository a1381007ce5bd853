/* SPDX-License-Identifier: MIT */
#pragma once

/* Restores what a killed recorder has left changed in a running QEMU: the events that it switched on, the log, the
 * guest's port. A recorder writes the previous settings into the runtime directory (tracedir/registry.h) before it
 * changes them. */

#include "control/libvirt.h"
#include "record/qemu/restore.h"
#include "tracedir/registry.h"

/* Saves what CHANGES must restore, in case this recorder is killed. -errno. */
int qemu_leftover_save(const struct qemu_restore *changes);
/* Reads what was saved for process PID. RUNTIME is $XDG_RUNTIME_DIR. *RET is empty if nothing was saved. -ENOMEM. */
int qemu_leftover_find(const char *runtime, pid_t pid, struct qemu_restore *ret);
/* Restores what LEFT says, and removes a port that still exists. DOMAIN: the domain of this QEMU; NULL: none, or
 * unknown. If `with_serial` is false, the device of the port stays, for the next port. What could not be restored stays
 * in LEFT. *RET_ANY: true if anything was left. -errno with ERROR. */
int qemu_leftover_undo(struct qemu_restore *left, struct qmp *qmp, struct libvirt_domain *domain,
                       const char *runtime, bool with_serial, bool *ret_any, struct error *error);
