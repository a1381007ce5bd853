/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata record --attach` and `strata recover` have in common: which process is meant, and what is told
 * of its losses. */

#include "programs/taker.h"

/* The process that OPERAND names by its number; 0: it is no such number. */
uint32_t taken_pid(const char *operand);

/* Reports rings, and records in them, that cannot be decoded. */
void taken_tell_unreadable(const struct taken *taken);
/* Whether all that was emitted could be taken, and told. */
bool taken_is_whole(const struct taken *taken);
