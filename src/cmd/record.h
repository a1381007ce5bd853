/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata record` tell each other. */

#include "cmd/options.h"

/* Of recording from per-CPU trace buffers. */
struct record_buffers_options {
    const char *name;      /* of a file of them; NULL: those of Xen */
    struct strings events; /* words of declare/xen_choice.h; none: all */
    struct strings tables; /* files that declare events */
    const char *cpus;
    uint64_t buffer_size; /* bytes; 0: as it is */
    uint64_t memory, max_size, reserve;
    uint64_t poll; /* ms */
    bool backlog, leave_on, libxenctrl;
};

#define RECORD_BUFFERS_DEFAULT                     \
    {                                              \
        .poll = 100, .reserve = (uint64_t)64 << 20 \
    }

extern const struct option record_buffers_options[];

struct record_options {
    const char *output;
    uint64_t seconds;
    bool attach, xen, keep, strict;
    struct record_buffers_options buffers;
};

/* An exit status. */
int record_buffers(const struct record_options *options, int n, char **operands);
