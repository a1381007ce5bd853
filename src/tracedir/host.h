/* SPDX-License-Identifier: MIT */
#pragma once

/* The recording machine: its identity and its clocks. */

#include "tracedir/manifest.h"

/* This host, for the `host` of a source, and this process as its recorder. Never NULL; what cannot be read is NULL in it. Valid until the
 * process ends. The first call reads it and must not run in two threads at the same time. */
const struct manifest_host *host_here(void);

/* Reads all clocks of the host at one moment, as close together as a few attempts get: each was read
 * within `error_ns` of `monotonic_ns`. So realtime_ns, or tsc, and monotonic_ns are a pair for
 * timeline/clock_map.h. Takes a microsecond. If CLOCK_MONOTONIC moves in steps, as it may in a virtual
 * machine, it waits for the next step, up to 20 ms, and the error includes the step. Any thread. */
struct manifest_moment host_moment(void);
