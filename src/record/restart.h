/* SPDX-License-Identifier: MIT */
#pragma once

/* Recording again into a directory that has a trace: strata record --restart.
 *
 * What is there is moved to DIR/snapshots/TIME-before-restart, which is a trace as the one that is saved by a snapshot, whether
 * the recorder had ended in order or was killed. The newest RESTART_KEPT_MAX of these are kept; snapshots of other names are not touched.
 *
 * A process that is killed in between leaves what the next call completes. */

#include "base/error.h"

#define RESTART_SUFFIX "-before-restart"
#define RESTART_KEPT_MAX 8u

/* DIR, at PATH, is open and locked, and gets a directory `snapshots`. *RET_KEPT: the path of what was moved, allocated; NULL: there
 * was nothing. RESCUE, or NULL, is called before something is moved: it brings what programs and agents that have ended left in their rings to
 * the trace. -EEXIST with ERROR: there is something that no recording has made; -errno with ERROR. */
int restart_keep_trace(int dir, const char *path, void (*rescue)(int dir, const char *path),
                       char **ret_kept, struct error *error);
