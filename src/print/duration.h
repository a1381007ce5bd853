/* SPDX-License-Identifier: MIT */
#pragma once

/* Spans of time as numbers for programs. For people: duration_text() of event/clock.h. */

#include "event/clock.h"

/* TICKS as nanoseconds, or as they are; at most INT64_MAX. */
int64_t duration_ns(const struct clock *clock, uint64_t ticks);
