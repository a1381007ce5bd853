/* SPDX-License-Identifier: MIT */
#pragma once

/* Where in an xentrace file a cpu's reading goes on, so that no record from a time on is missed. For the reader alone.
 *
 * Windows are only ever reached by their chain (windows.h), never by searching for bytes that look like one, so there is
 * no false point to exclude. Of a cpu's windows the last one that begins before the time is found by halves: on one cpu
 * the counter does not step back. From there reading goes back to the nearest window with a record that says which vCPU
 * runs, so that the events have the vCPU that they have when all is read. Where no record before says so, all of them
 * have been looked at. */

#include "format/xentrace/windows.h"

/* The part of its present window that a cpu has not read yet. */
struct xentrace_rest {
    uint64_t offset;
    uint32_t size;
};

/* Moves *CURSOR, of CPU, which stands after the window with REST, forward to the window to go on with for TIME. 1; 0: none
 * can be given for certain, and *CURSOR stays; -ENOMEM, or an errno from reading. FOLLOWS: a record before said which
 * vCPU runs. */
int xentrace_seek(struct xentrace_windows *windows, uint16_t cpu, int64_t time,
                  const struct xentrace_rest *rest, bool follows, struct xentrace_cursor *cursor,
                  struct error *error);

/* Sets when the first and the last of the cpus begin, by their first times. `first_begin` is TIME_UNKNOWN if none has one,
 * `last_begin` 0 if there are not two that have one. -ENOMEM, or an errno from reading. */
int xentrace_find_begins(struct xentrace_windows *windows, struct error *error);
