/* SPDX-License-Identifier: MIT */
#pragma once

/* Times and spans of time for people. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "event/clock.h"

/* NS since 1970 as "YYYY-MM-DD HH:MM:SS", local time; "" if out of range. BUF of 32 bytes or more.
 * Returns BUF. */
const char *date_text(char *buf, size_t size, int64_t ns);

/* "10", "0.3": a `parse` of struct cli_option, for a uint64_t of nanoseconds. */
int duration_parse(void *member, const char *value, struct error *error);
/* … which must not be 0. */
int duration_parse_period(void *member, const char *value, struct error *error);
