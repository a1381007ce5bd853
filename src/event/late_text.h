/* SPDX-License-Identifier: MIT */
#pragma once

/* What is said of events that are out of order (timeline/late.h). */

#include <stdint.h>

#define LATE_TEXT_SIZE 96

/* Of N events, 1 or more. Returns BUF. */
const char *late_text(char buf[LATE_TEXT_SIZE], uint64_t n);
