/* SPDX-License-Identifier: MIT */
#pragma once

/* How often triggers save snapshots: at most `per_hour` in any hour, and each condition no more than one in an hour divided by
 * that, so that a condition that holds on, or is met 10,000 times a second, leaves room for the others. All times are
 * CLOCK_BOOTTIME in ns, so neither a clock that steps nor a machine that slept matters. Not thread-safe. */

#include <stdbool.h>
#include <stdint.h>

#define TRIGGER_PER_HOUR_MAX 3600u

struct trigger_limits;

/* Of N conditions. PER_HOUR: 1 to TRIGGER_PER_HOUR_MAX. -ENOMEM. */
int trigger_limits_new(unsigned n, unsigned per_hour, struct trigger_limits **ret);
void trigger_limits_free(struct trigger_limits *limits);

/* Whether condition I, met at NOW, may save a snapshot. */
bool trigger_limits_allow(const struct trigger_limits *limits, unsigned i, uint64_t now);
/* A snapshot was saved at NOW, or could not be: it counts. */
void trigger_limits_count(struct trigger_limits *limits, uint64_t now);
/* The snapshot shows condition I as it was met at NOW. IS_SAVED: false: it is tried again sooner. */
void trigger_limits_note(struct trigger_limits *limits, unsigned i, uint64_t now, bool is_saved);
