/* SPDX-License-Identifier: MIT */
#pragma once

/* The manifest of a directory with guests' traces. */

#include "record/agent/guests.h"

/* Their sources, for a manifest: *ret_n of them, in ARENA; what they point to is that, and GUESTS. COMPLETE: it is the
 * last time. SILENT: also of those from which nothing came. -ENOMEM. */
int guests_put_sources(const struct guests *guests, bool complete, bool silent, struct arena *arena,
                       struct manifest_source **ret, unsigned *ret_n);

/* COMPLETE: it is the last time; until then room for that is kept on the disk. -errno with ERROR. */
int guests_write_manifest(struct guests *guests, bool complete, struct error *error);
