/* SPDX-License-Identifier: MIT */
#pragma once

/* Records again into a directory that has a trace: strata record --restart.
 *
 * The existing trace is moved to DIR/snapshots/TIME-before-restart. It is then a trace like any saved snapshot, even if
 * its recorder was killed. A complete trace without events is removed instead. The newest RESTART_KEPT_MAX of these are kept. Snapshots with other names are not touched.
 *
 * If this process is killed, the next call completes the move. */

#include "base/error.h"

#define RESTART_SUFFIX "-before-restart"
#define RESTART_KEPT_MAX 8u

/* DIR, at PATH, must be open and locked. Creates a directory `snapshots` in it. *RET_KEPT: the path of the moved trace,
 * which the caller frees; NULL: nothing was moved. RESCUE (may be NULL) is called before the move: it writes what ended
 * programs and agents have left in their rings to the trace. -EEXIST with ERROR: DIR has a file that no recording
 * created; other -errno with ERROR. */
int restart_keep_trace(int dir, const char *path, void (*rescue)(int dir, const char *path),
                       char **ret_kept, struct error *error);
