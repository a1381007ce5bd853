/* SPDX-License-Identifier: MIT */
#pragma once

/* The flags of what is unknown of an origin, as words. Exports write them, and readers of the exports set them
 * again. */

#include "event/class.h"

/* "threads_only", "lost_uncounted", ...: the names of members of struct origin. Ended by NULL. */
extern const char *const origin_flag_names[];

/* The flag NUMBER of origin_flag_names. */
bool origin_has_flag(const struct origin *origin, unsigned number);
/* Sets the flag NAME, LEN bytes. Returns false if it is unknown. */
bool origin_set_flag(struct origin *origin, const char *name, size_t len);
