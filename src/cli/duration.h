/* SPDX-License-Identifier: MIT */
#pragma once

/* Durations as arguments of options. */

#include "base/error.h"
#include "event/clock.h"

/* "10", "0.3": a `parse` of struct cli_option, for a uint64_t of nanoseconds. */
int duration_parse(void *member, const char *value, struct error *error);
/* … which must not be 0. */
int duration_parse_period(void *member, const char *value, struct error *error);
