/* SPDX-License-Identifier: MIT */
#pragma once

/* The recording machine: its identity and its clocks. */

#include "tracedir/manifest.h"

/* Returns this host, for the `host` of a source, with this process as its recorder. Never NULL; members that cannot be
 * read are NULL. Valid until the process ends. The first call reads it, and must not run in two threads at the same
 * time. */
const struct manifest_host *host_here(void);

/* Reads all clocks of the host at one moment, in a few attempts to be exact: each clock was read within `error_ns` of
 * `monotonic_ns`. So realtime_ns or tsc make a pair with monotonic_ns (timeline/clock_map.h). Takes a microsecond. If
 * CLOCK_MONOTONIC moves in steps, as in some virtual machines, waits for the next step, up to 20 ms; then the error
 * includes the step. Any thread. */
struct manifest_moment host_moment(void);
