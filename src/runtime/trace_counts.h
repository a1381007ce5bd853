/* SPDX-License-Identifier: MIT */
#pragma once

/* Counters of tracing, which strata_trace_get_stats() returns. They change only when something is written out or lost,
 * never when an event is put into its ring. */

#include <stdatomic.h>
#include <stdint.h>

struct trace_counts {
    atomic_ullong lines_lost;     /* by strata_log() and strata_ftrace() */
    atomic_ullong events_dropped; /* by the rings, as reported by packets that were read */
    atomic_ullong sinks_lost;     /* records that a sink could not write, sum of all sinks */
    /* packets that could not be decoded completely, because of a record of an unknown class */
    atomic_ullong packets_cut;
    atomic_ullong bytes_written;
};

extern struct trace_counts trace_counts;

#define COUNT(what, n) atomic_fetch_add_explicit(&trace_counts.what, (n), memory_order_relaxed)
