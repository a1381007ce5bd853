/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink before those of CTF and trace.dat, whose files have no words for what the trace knows of its bounds: where a CPU's
 * recording begins after that of others (origin->complete_from), or ends before them (is_open of a loss). There, they get
 * losses with a begin and an end in the trace. */

#include "export/export.h"

/* NEXT is owned by *RET, also on failure. */
int export_bounds_open(struct sink *next, struct sink **ret, struct error *error);
