/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "event/clock.h"

/* The clock that the text of `trace_clock` ("local [mono] x86-tsc") names: the one in brackets, or the
 * only one. The name is static for the kernel's own clocks and otherwise "unknown"; what is not
 * nanoseconds has the rate 0 if the kernel does not report it. */
struct clock ftrace_clock(const char *text, size_t len);
