/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the counts of a tally: text, JSON, CSV. */

#include "analysis/tally.h"
#include "base/text.h"
#include "event/select.h"
#include "trace/trace.h"

struct stat_report_options {
    unsigned format; /* enum table_format */
    const char *by;  /* NULL: by event */
    uint64_t every;  /* in ns */
    uint64_t gaps;
};

struct stat_report {
    const struct stat_report_options *options;
    struct trace *trace;
    struct tally tally;
    struct clock clock;
    int64_t from;              /* begin of the selection; INT64_MIN: begin of the trace */
    const struct ranges *cpus; /* selected CPUs, or NULL for all */
    struct text *out;
    unsigned line_width; /* as in struct table_form */
};

/* Names of enum tally_by for --by. */
#define STAT_KINDS TALLY_BY_KEYS
extern const char *const stat_kinds[STAT_KINDS];

/* Sets the begin of the time from SELECTION, all of which was counted. */
void stat_set_begin(struct stat_report *stat, const struct selection *selection);

/* Prints the counts in the format of the options. CSV does not contain losses, so the caller reports them. 0,
 * -ENOMEM. */
int print_stat(struct stat_report *stat);
