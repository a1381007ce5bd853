/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata record` of programs and `strata recover` have in common: reports of lost events. */

#include "record/rings/drain.h"

/* Reports events that the program had no room for. SINCE: " while it ran" or ""; HINT: how to have more room, or "". */
void drain_stats_report_dropped(const struct drain_stats *taken, const char *since,
                                const char *hint);
/* Reports events for which the trace had no room. */
void drain_stats_report_unwritten(const struct drain_stats *taken);
/* Reports rings, and records in them, that cannot be decoded. */
void drain_stats_report_unreadable(const struct drain_stats *taken);
/* Reports what stays in the rings of PROCESS, an operand of `strata recover`. */
void drain_stats_report_kept(const struct drain_stats *taken, const char *process);
/* True if every event that was emitted is in the trace, or was reported. */
bool drain_stats_is_whole(const struct drain_stats *taken);
