/* SPDX-License-Identifier: MIT */
#pragma once

/* The kernel's counts for each CPU in a trace.dat: a copy of per_cpu/cpuN/stats, taken after the recording. */

#include "format/trace_dat/file.h"

/* Reads an option CPUSTAT, N bytes at P: the name of the buffer of the following options, or the numbers of one of its
 * CPUs. Ignores any other text. -ENOMEM. */
int dat_cpustat_read(struct dat_file *file, const uint8_t *p, uint32_t n);

/* The events of CPU in BUFFER that are missing in FILE, and what is known of them. Reads all its pages if they are
 * counted or compressed. */
struct dat_lack {
    bool is_counted; /* the file states the number of events */
    uint64_t events; /* missing events; 0: none, as far as known */
    bool is_exact;   /* false: `events` or more are missing */
    /* If its pages were read: times of its first and last event. */
    uint64_t begin, end;
    uint64_t second_begin,
        /* Times of the begin of its second page, and of the end of its last page but one; 0: no such page. */
        inner_end;
    bool begins_after_loss;
};

/* Returns 0 or -ENOMEM. */
int dat_cpustat_compare(struct dat_file *file, const struct dat_buffer *buffer,
                        const struct dat_cpu *cpu, const struct ftrace_layout *layout,
                        struct dat_lack *ret);
