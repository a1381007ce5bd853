/* SPDX-License-Identifier: MIT */
#pragma once

/* The machine that records: what tells it from others, and its clocks. */

#include "tracedir/manifest.h"

/* This host, for the `host` of a source: never NULL; what cannot be read is. It lives for ever. The first call
 * reads it: not from two threads at a time. */
const struct manifest_host *host_here(void);

/* All clocks of the host at one moment, as near to each other as a few attempts get them: each was read within
 * `error_ns` of `monotonic_ns`. So realtime_ns, or tsc, and monotonic_ns are a pair of clocks as of
 * timeline/clock_map.h. Takes a microsecond; where CLOCK_MONOTONIC goes in steps (as it may in a virtual machine),
 * until the next one, 20 ms at most, and the step is in the error. Of any thread. */
struct manifest_moment host_moment(void);
