/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses durations in arguments of options. */

#include "base/error.h"
#include "event/clock.h"

/* Parses seconds ("10", "0.3") into a uint64_t of nanoseconds; a `parse` function of struct cli_option. */
int duration_parse(void *member, const char *value, struct error *error);
/* The same, but refuses 0. */
int duration_parse_period(void *member, const char *value, struct error *error);
