/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata record --attach` and `strata recover` have in common: which process is meant, and what is told
 * of its losses. */

#include "record/rings/drain.h"

/* The process that OPERAND names by its number; 0: it is no such number. */
uint32_t drain_stats_pid(const char *operand);

/* Reports rings, and records in them, that cannot be decoded. */
void drain_stats_tell_unreadable(const struct drain_stats *taken);
/* Reports what stays in the rings of PROCESS, an operand of `strata recover`. */
void drain_stats_tell_kept(const struct drain_stats *taken, const char *process);
/* Whether all that was emitted could be taken, and told. */
bool drain_stats_is_whole(const struct drain_stats *taken);
