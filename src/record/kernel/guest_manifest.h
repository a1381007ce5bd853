/* SPDX-License-Identifier: MIT */
#pragma once

/* Puts a guest into the manifest of its recording. */

#include "record/kernel/guest.h"

/* How a guest appears that has sent nothing. */
enum guest_silent {
    GUEST_SILENT_LEFT_OUT,
    GUEST_SILENT_WITHOUT_EVENTS, /* a source of the kind MANIFEST_NO_EVENTS, with its problems */
    GUEST_SILENT_AS_OTHERS,
};

/* Makes the sources of a manifest, one for each boot of GUEST, which must be open. *RET_N sources, allocated in ARENA,
 * point into ARENA and GUEST. COMPLETE: the guest has ended. -ENOMEM. */
int guest_put_sources(const struct guest *guest, bool complete, enum guest_silent silent,
                      struct arena *arena, struct manifest_source **ret, unsigned *ret_n);
