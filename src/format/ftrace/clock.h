/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "event/clock.h"

/* Parses the text of `trace_clock` ("local [mono] x86-tsc"): the clock in brackets, or the only one. The name is
 * static: a name of the kernel's own clocks, or "unknown". A clock that does not count nanoseconds has rate 0 unless
 * the kernel reports its rate. */
struct clock ftrace_clock(const char *text, size_t len);
