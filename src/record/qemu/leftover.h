/* SPDX-License-Identifier: MIT */
#pragma once

/* What a recorder that was killed has left changed in a QEMU that runs: the events that it switched on, the log, the port of
 * the guest. A recorder writes what was there before into the runtime directory (tracedir/registry.h), before it changes it. */

#include "control/libvirt.h"
#include "record/qemu/restore.h"
#include "tracedir/registry.h"

/* Writes what CHANGES have to put back, for the case that this recorder is killed. -errno. */
int qemu_leftover_save(const struct qemu_restore *changes);
/* What there is of process PID; RUNTIME is $XDG_RUNTIME_DIR. Nothing: *RET is empty. -ENOMEM. */
int qemu_leftover_find(const char *runtime, pid_t pid, struct qemu_restore *ret);
/* Puts it back, with a port that is there. DOMAIN: whose QEMU it is; NULL: none that is
 * known. Without `with_serial`, the device that the port is on stays, for the next port.
 * What stays is in LEFT. *RET_ANY: whether there was anything. -errno with ERROR. */
int qemu_leftover_undo(struct qemu_restore *left, struct qmp *qmp, struct libvirt_domain *domain,
                       const char *runtime, bool with_serial, bool *ret_any, struct error *error);
