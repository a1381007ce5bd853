/* SPDX-License-Identifier: MIT */
#pragma once

/* strata ctl: what a program says that it dropped, and its trace file. */

#include "print/table.h"

/* Puts to OUT what ANSWER, a program's answer to `stats` (strata-control(7)), has: the totals, the events that were
 * dropped, the rings. Cuts ANSWER into pieces. 0, -ENOMEM. */
int ctl_put_stats(struct text *out, enum table_format format, char *answer);

/* ... to `file`: the path of the trace file, and whether it is on. */
int ctl_put_file(struct text *out, enum table_format format, char *answer);
