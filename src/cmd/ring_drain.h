/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata record` of programs and `strata recover` share: reports of lost events. */

#include "record/rings/drain.h"

/* Reports events for which the program had no space. SINCE: " while it ran" or ""; HINT: how to get more space, or
 * "". */
void drain_stats_report_dropped(const struct drain_stats *taken, const char *since,
                                const char *hint);
/* Reports events for which the trace had no space. */
void drain_stats_report_unwritten(const struct drain_stats *taken);
/* Reports rings and records that cannot be decoded. */
void drain_stats_report_unreadable(const struct drain_stats *taken);
/* Reports what remains in the rings of PROCESS, an operand of `strata recover`. */
void drain_stats_report_kept(const struct drain_stats *taken, const char *process);
/* True if every emitted event is in the trace, or was reported. */
bool drain_stats_is_whole(const struct drain_stats *taken);
