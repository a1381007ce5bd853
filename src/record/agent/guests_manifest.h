/* SPDX-License-Identifier: MIT */
#pragma once

/* What the manifest of a recording says of its guests. */

#include "record/agent/guests.h"

/* Makes the sources of a manifest: *ret_n of them, in ARENA; they point into ARENA and GUESTS. COMPLETE: the guests have
 * ended. SILENT: also those from which nothing came. -ENOMEM. */
int guests_put_sources(const struct guests *guests, bool complete, bool silent, struct arena *arena,
                       struct manifest_source **ret, unsigned *ret_n);
