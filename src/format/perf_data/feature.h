/* SPDX-License-Identifier: MIT */
#pragma once

/* The feature sections of a perf.data: facts about the machine, the recording and its events.
 *
 *   feature         bytes
 *   1 tracing data  the kernel's event formats (dat_file_open_tracing_data() of format/trace_dat/file.h)
 *   3 hostname, 4 osrelease, 5 version, 6 arch, 8 cpudesc, 9 cpuid
 *                   u32 n, n bytes of text up to a NUL
 *   7 nrcpus        u32 present, u32 online (the document has them the other way round)
 *   10 total_mem    u64 KB
 *   11 cmdline      u32 number of texts; texts as above
 *   12 event_desc   u32 number of events, u32 size of an attribute; of each: attribute, u32 n, name as above, n u64 IDs
 *   21 sample_time  u64 first, u64 last
 *   23 clockid      u64 resolution in ns
 *   27 compressed   u32 version, type, level, ratio, size of a buffer
 *   29 clock_data   u32 version, u32 clock, u64 time of day in ns, u64 the clock's time at that moment
 */

#include "format/perf_data/attr.h"

struct perf_features {
    const char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid;
    char *cmdline; /* in the arena of the attributes, like all strings here */
    uint32_t n_cpus;
    uint64_t total_mem_kb;
    bool has_aux, is_directory;
    bool has_counts; /* written by perf stat record */
    int32_t clockid; /* from clock_data; or PERF_ATTR_CLOCKID_NONE */
    uint64_t wall_ns, clock_ns;
};

/* Reads feature ID, SIZE bytes at P. Names of events are added to ATTRS. Ignores a feature that is unknown or too
 * short. -ENOMEM. */
int perf_feature_read(struct perf_features *features, struct perf_attrs *attrs, unsigned id,
                      const uint8_t *p, size_t size);
