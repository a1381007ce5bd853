/* SPDX-License-Identifier: MIT */
#pragma once

/* Durations as numbers, for programs. For people there is duration_text() in event/clock.h. */

#include "event/clock.h"

/* Converts TICKS to nanoseconds, or keeps them if the clock has no rate. At most INT64_MAX. */
int64_t duration_ns(const struct clock *clock, uint64_t ticks);
