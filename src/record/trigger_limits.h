/* SPDX-License-Identifier: MIT */
#pragma once

/* Limits how often triggers save snapshots: at most `per_hour` in any hour, and each condition at most once in an hour
 * divided by `per_hour`. So a condition that holds permanently, or is met 10,000 times a second, leaves room for the
 * others. All times are CLOCK_BOOTTIME in ns, so neither a clock that steps nor a machine that slept matters. Not
 * thread-safe. */

#include <stdbool.h>
#include <stdint.h>

#define TRIGGER_PER_HOUR_MAX 3600u

struct trigger_limits;

/* N: number of conditions. PER_HOUR: 1 to TRIGGER_PER_HOUR_MAX. -ENOMEM. */
int trigger_limits_new(unsigned n, unsigned per_hour, struct trigger_limits **ret);
void trigger_limits_free(struct trigger_limits *limits);

/* True if condition I, met at NOW, may save a snapshot. */
bool trigger_limits_allow(const struct trigger_limits *limits, unsigned i, uint64_t now);
/* Counts a snapshot that was saved, or could not be saved, at NOW. */
void trigger_limits_count(struct trigger_limits *limits, uint64_t now);
/* Notes that a snapshot shows condition I, which was met at NOW. If IS_SAVED is false, the condition may save another
 * one sooner. */
void trigger_limits_note(struct trigger_limits *limits, unsigned i, uint64_t now, bool is_saved);
