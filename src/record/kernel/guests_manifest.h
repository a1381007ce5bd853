/* SPDX-License-Identifier: MIT */
#pragma once

/* What the manifest of a recording says of its guests. */

#include "record/kernel/guests.h"

/* What is said of guests from which nothing came. */
enum guests_silent {
    GUESTS_SILENT_LEFT_OUT,
    GUESTS_SILENT_WITHOUT_EVENTS, /* a source of the kind MANIFEST_NO_EVENTS, with their problems */
    GUESTS_SILENT_AS_OTHERS,
};

/* Makes the sources of a manifest: *ret_n of them, in ARENA; they point into ARENA and GUESTS. COMPLETE: the guests have
 * ended. -ENOMEM. */
int guests_put_sources(const struct guests *guests, bool complete, enum guests_silent silent,
                       struct arena *arena, struct manifest_source **ret, unsigned *ret_n);
