/* SPDX-License-Identifier: MIT */
#pragma once

/* A recording of a QEMU that runs already: what is changed in it for that, by its monitor, and put back at the
 * end.
 *
 * QEMU writes its log while it answers, and waits when nobody takes it: so a thread talks to the monitor, while
 * the recorder goes on taking. The connection is held for these moments only, as a monitor serves one at a
 * time. */

#include "vmm/recording.h"

/* LOG or SIMPLE, where events are to go (both NULL: nowhere), and *PORT, the socket of the guest's port: of one that
 * is there, or (ADDS) that of one to be added. *PORT becomes NULL where it cannot be. What QEMU does not do is
 * noted as a problem; -errno with FAULT: nothing can be done with its monitor. */
int vmm_attach(struct vmm_recording *recording, const char *log, const char *simple,
               const char **port, bool adds, struct fault *fault);
/* Puts back what was changed; as a problem is noted what could not be. */
void vmm_detach(struct vmm_recording *recording);

/* What QEMU writes to at PATH it has to reach: where it is another user's, the recording's folder for such
 * things becomes his. */
int vmm_attach_give(struct vmm_recording *recording, struct fault *fault);

/* The file that QEMU's log goes to, to be written on; -1: that cannot be. */
int vmm_attach_log(const struct vmm_running *running);
