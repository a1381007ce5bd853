/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink before the sinks of CTF and trace.dat. These formats cannot express that a CPU's recording begins after other
 * CPUs' (origin->complete_from), or ends before theirs (is_open of a loss). They get losses instead that begin and end
 * in the trace. */

#include "export/export.h"

/* *RET owns NEXT, also on failure. */
int export_bounds_open(struct sink *next, struct sink **ret, struct error *error);
