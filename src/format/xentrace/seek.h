/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the window of a CPU with which reading must continue so that no record from a given time on is missed. Only for
 * the reader.
 *
 * Windows are only reached by their chain (windows.h), never by searching for bytes that look like a window, so false
 * windows cannot occur. The last window of a CPU that begins before the time is found by bisection, because the counter
 * of one CPU does not step back. From there, reading goes back to the nearest window with a record that tells the
 * running vCPU, so that events have the same vCPU as if everything had been read. If no earlier record tells it, all of
 * them have been examined. */

#include "format/xentrace/windows.h"

/* The unread part of a CPU's present window. */
struct xentrace_rest {
    uint64_t offset;
    uint32_t size;
};

/* Moves *CURSOR of CPU, which is after the window with REST, forward to the window with which to continue for TIME.
 * Returns 1; 0: no certain window, and *CURSOR is unchanged; -ENOMEM, or an errno from reading. FOLLOWS: an earlier
 * record told the running vCPU. */
int xentrace_seek(struct xentrace_windows *windows, uint16_t cpu, int64_t time,
                  const struct xentrace_rest *rest, bool follows, struct xentrace_cursor *cursor,
                  struct error *error);

/* Finds when the first and the last CPU begin, by their first times. `first_begin` is TIME_UNKNOWN if no CPU has a
 * time; `last_begin` is 0 unless at least two have one. -ENOMEM, or an errno from reading. */
int xentrace_find_begins(struct xentrace_windows *windows, struct error *error);
