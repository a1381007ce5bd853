/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink before those of CTF and trace.dat. These formats cannot say that the recording of a CPU begins after that of other
 * CPUs (origin->complete_from), or ends before theirs (is_open of a loss). They get losses that begin and end in the trace. */

#include "export/export.h"

/* NEXT is owned by *RET, also on failure. */
int export_bounds_open(struct sink *next, struct sink **ret, struct error *error);
