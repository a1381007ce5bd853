/* SPDX-License-Identifier: MIT */
#pragma once

/* A recording of a QEMU that runs already: what is changed in it for that, by its monitor, and put back at the
 * end.
 *
 * QEMU writes its log while it answers, and waits when nobody takes it: so a thread talks to the monitor, while
 * the recorder goes on taking. The connection is held for these moments only, as a monitor serves one at a
 * time. */

#include "record/qemu/recording.h"

/* Sees that its monitor answers, and who runs its vCPUs. *PORT is the socket of the guest's port, NULL: there is none;
 * with ADDS one is to be added by that name, and *PORT becomes NULL where it cannot be, which is noted as a
 * problem. -errno with ERROR: nothing can be done with its monitor. */
int qemu_attach(struct qemu_recording *recording, const char **port, bool adds,
                struct error *error);
/* Switches the events on, which go to LOG, or SIMPLE (both NULL: nowhere, and none are). What QEMU does not do is noted
 * as a problem. */
int qemu_attach_events(struct qemu_recording *recording, const char *log, const char *simple,
                       struct error *error);
/* Puts back what was changed; as a problem is noted what could not be. */
void vmm_detach(struct qemu_recording *recording);

/* What QEMU writes to at PATH it has to reach: where it is another user's, the recording's directory for such
 * things becomes his. */
int qemu_attach_give(struct qemu_recording *recording, struct error *error);

/* The file that QEMU's log goes to, to be written on; -1: that cannot be. */
int qemu_attach_log(const struct qemu_running *running);
