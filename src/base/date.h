/* SPDX-License-Identifier: MIT */
#pragma once

/* Dates for people. */

#include <stddef.h>
#include <stdint.h>

/* NS since 1970 as "YYYY-MM-DD HH:MM:SS", local time; "" if out of range. BUF of 32 bytes or more. Returns BUF. */
const char *date_text(char *buf, size_t size, int64_t ns);
