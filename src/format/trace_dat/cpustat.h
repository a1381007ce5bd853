/* SPDX-License-Identifier: MIT */
#pragma once

/* What trace-cmd says that the kernel counted of each CPU: a copy of per_cpu/cpuN/stats, taken when the recording was over. */

#include "format/trace_dat/file.h"

/* Takes note of one option CPUSTAT, N bytes at P: the name of a buffer, which those after it are of, or the numbers of one of its
 * CPUs. Any other text says nothing. -ENOMEM. */
int dat_cpustat_read(struct dat_file *file, const uint8_t *p, uint32_t n);

/* How many events of CPU, of BUFFER, are not in FILE, and what of that is known. Reads all its pages, if they are counted or compressed. */
struct dat_lack {
    bool is_counted; /* the file says how many there were */
    uint64_t events; /* 0: none, as far as is known */
    bool is_exact;   /* otherwise, these or more */
    /* Its first event and its last one, if its pages were read: */
    uint64_t begin, end;
    uint64_t second_begin,
        inner_end; /* of the second page, and of the last but one; 0: there is none */
    bool begins_after_loss;
};

/* 0; -ENOMEM. */
int dat_cpustat_compare(struct dat_file *file, const struct dat_buffer *buffer,
                        const struct dat_cpu *cpu, const struct ftrace_layout *layout,
                        struct dat_lack *ret);
