/* SPDX-License-Identifier: MIT */
#pragma once

/* What both sides of watch/families_feed.h share. */

#include "watch/families_feed.h"

extern const char *const families_result_names[FAMILIES_RESULTS];
