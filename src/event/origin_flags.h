/* SPDX-License-Identifier: MIT */
#pragma once

/* What is not known of an origin, as words that a file can hold: exports say it, and what reads them knows it again. */

#include "event/class.h"

/* "threads_only", "lost_uncounted", ...: each is the member of struct origin of that name. Ended by NULL. */
extern const char *const origin_flag_names[];

/* The flag NUMBER of origin_flag_names. */
bool origin_has_flag(const struct origin *origin, unsigned number);
/* Sets the flag that is called NAME, LEN bytes; false: there is none. */
bool origin_set_flag(struct origin *origin, const char *name, size_t len);
