/* SPDX-License-Identifier: MIT */
#pragma once

/* strata stat: what its two halves, counting (stat.c) and printing (stat_print.c), have in common. */

#include "analysis/tally.h"
#include "cmd/walk.h"

struct stat_options {
    struct open_options open;
    struct select_options select;
    unsigned format; /* enum table_format */
    const char *by;  /* NULL: event */
    uint64_t every;  /* ns */
    uint64_t gaps;
    unsigned jobs;
    bool wide;
};

struct stat {
    const struct stat_options *options;
    struct trace *trace;
    struct tally tally;
    struct clock clock;
    struct text *out;
};

/* How --by names enum tally_by. */
#define STAT_KINDS TALLY_BY_KEYS
extern const char *const stat_kinds[STAT_KINDS];

/* Prints what was counted, in the format of the options. 0, -ENOMEM. */
int stat_print(struct stat *stat);
