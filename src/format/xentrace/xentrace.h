/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a file of xentrace (format/xentrace/record.h has its layout) as one source per physical CPU. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"
#include "schema/xen/table.h"

struct xentrace_options {
    struct reader_options reader;
    /* rate of the time stamp counter, which is not in the file; 0: unknown */
    uint64_t cpu_hz;
    xen_version version; /* of the Xen that wrote the records; 0: unknown */
    enum xen_cpu cpu;    /* vendor of the processor on which Xen ran */
    /* CPUs that were recorded, even if they have no window; NULL: unknown. Borrowed while opening. */
    const struct cpu_set *recorded;
    uint64_t lost_at_end; /* events lost after the last record */
    /* The recorder was cut off. If the file ends within a window, this is a loss at its end, not an error. */
    bool unfinished;
    /* borrowed, must outlive the sources; NULL: the built-in table */
    const struct xen_table *table;
    /* borrowed, must outlive the sources (base/reopen_cache.h); NULL: none */
    struct reopen_cache *cache;
};

/* Opens a file. Takes over IN in any case; *IN is empty afterwards. A pipe is first copied to a temporary file
 * (base/spool.h), because each CPU is read separately.
 *
 * *RET_SOURCES: an array of *RET_N sources, at least one, in the order of the CPUs' numbers; the caller frees the
 * array. The sources share what they read from, and may be freed separately. Times are raw cycle counts. A record
 * without a time has the time of the previous record on its CPU; at a trace's start, of the first record with a time
 * after it, or TIME_UNKNOWN if none of the first records of the CPU has one. A source returns items in the order of the
 * file, whose times do not step backwards unless the counter did.
 *
 * A class is created when its first event is read, so the catalogue grows while sources are read. An event that the
 * table does not know has a class "unknown_0xID" ("guest_0xNUM" if a guest made it) with the raw words. LOST_RECORDS
 * becomes a loss; WRAP_BUFFER and CPU_CHANGE belong to the format and are not returned. Damage within a window fails
 * that CPU's source at that place. If the file is cut, or its chain of windows breaks, all sources end there, and the
 * last one returns the error. With keep_going, both are losses.
 *
 * item.vcpu is the vCPU that ran on the CPU, as far as runstate and switch records tell it (event/xen_vcpu.h). */
int xentrace_open(struct input *in, const struct xentrace_options *options,
                  struct catalogue *catalogue, struct source ***ret_sources, unsigned *ret_n,
                  struct error *error);

/* The physical CPU of a source of xentrace_open(). */
unsigned xentrace_source_cpu(const struct source *source);
/* True if the CPU was recorded but has no window. The source then returns only a loss without an end. */
bool xentrace_source_is_missing(const struct source *source);
