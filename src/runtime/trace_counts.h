/* SPDX-License-Identifier: MIT */
#pragma once

/* What is counted while tracing; strata_trace_get_stats() shows it. Counted only where something is
 * written out or lost, never on the way of an event into its ring. */

#include <stdatomic.h>
#include <stdint.h>

struct trace_counts {
    atomic_ullong lines_lost;     /* by strata_log() and strata_ftrace() */
    atomic_ullong events_dropped; /* by the rings, as reported by what was read from them */
    atomic_ullong sinks_lost;     /* records that a sink could not write, sinks added up */
    /* packets whose rest could not be decoded: a record of an unknown class */
    atomic_ullong packets_cut;
    atomic_ullong bytes_written;
};

extern struct trace_counts trace_counts;

#define COUNT(what, n) atomic_fetch_add_explicit(&trace_counts.what, (n), memory_order_relaxed)
