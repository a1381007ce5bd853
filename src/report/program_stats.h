/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints for strata ctl what a program has dropped, and its trace file. */

#include "print/table.h"

/* Puts to OUT the totals, the dropped events and the rings in ANSWER, a program's answer to `stats`
 * (strata-control(7)). Modifies ANSWER. 0, -ENOMEM. */
int ctl_put_stats(struct text *out, enum table_format format, char *answer);

/* The same for the answer to `file`: the path of the trace file, and whether it is on. */
int ctl_put_file(struct text *out, enum table_format format, char *answer);
