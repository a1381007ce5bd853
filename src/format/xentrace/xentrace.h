/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a file of xentrace (its layout: format/xentrace/record.h) as one source per physical cpu. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"
#include "schema/xen/table.h"

struct xentrace_options {
    struct reader_options reader;
    uint64_t cpu_hz;     /* of the time stamp counter; not in the file. 0: unknown */
    xen_version version; /* of the Xen that wrote the records, or 0: not known */
    enum xen_cpu cpu;    /* whose processors that Xen ran on */
    /* CPUs that were recorded, of which there may be no window; NULL: it is not known. Borrowed while it is opened. */
    const struct cpu_set *recorded;
    uint64_t lost_at_end; /* events that were lost after the last record */
    bool unfinished; /* the recorder was cut off: that the file ends within a window is a loss at
                          * its end, no error */
    const struct xen_table *table; /* borrowed, must outlive the sources; NULL: what is built in */
    struct reopen_cache *cache;    /* likewise (base/reopen_cache.h); NULL: none */
};

/* Takes IN over whatever the outcome; *IN is empty afterwards. A pipe is copied to a temporary file
 * first (base/spool.h), since each cpu is read by itself.
 *
 * *RET_SOURCES is a malloc()ed array (free() it) of *RET_N sources, at least one, in the order of the
 * cpus' numbers. They share what they read from and need not be freed together. Times are raw cycle
 * counts; a record without one has that of the record before it on its cpu (of the first one after
 * it at a trace's start; TIME_UNKNOWN when the first records of a cpu have none far and wide).
 * A source lends in the order of the file, whose times do not step backwards unless the counter did.
 *
 * Classes are made when the first event of each is read, so the catalogue grows while sources are
 * read. An event that the table does not know is of a class "unknown_0xID" ("guest_0xNUM" where a guest
 * made it) with the words as they are. LOST_RECORDS becomes a loss; WRAP_BUFFER and CPU_CHANGE are the format's own and not lent.
 * Damage within a window fails that cpu's source where it stands; a file that is cut, or whose chain
 * of windows breaks, lets every source come to its end there, and the last one returns the error.
 * With keep_going both are losses.
 *
 * item.vcpu is the vCPU that ran on the cpu, as far as runstate and switch records say (event/xen_vcpu.h). */
int xentrace_open(struct input *in, const struct xentrace_options *options,
                  struct catalogue *catalogue, struct source ***ret_sources, unsigned *ret_n,
                  struct error *error);

/* The physical cpu whose records a source of xentrace_open() lends. */
unsigned xentrace_source_cpu(const struct source *source);
/* Whether it was recorded, and there is no window of it: all that the source lends is a loss without an end. */
bool xentrace_source_is_missing(const struct source *source);
