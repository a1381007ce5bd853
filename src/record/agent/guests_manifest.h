/* SPDX-License-Identifier: MIT */
#pragma once

/* What the manifest of a recording says of its guests. */

#include "record/agent/guests.h"

/* Their sources, for a manifest: *ret_n of them, in ARENA; what they point to is that, and GUESTS. COMPLETE: it is the
 * last time. SILENT: also of those from which nothing came. -ENOMEM. */
int guests_put_sources(const struct guests *guests, bool complete, bool silent, struct arena *arena,
                       struct manifest_source **ret, unsigned *ret_n);
