/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what a tally has counted of a trace: text, JSON, CSV. */

#include "analysis/tally.h"
#include "base/text.h"
#include "event/select.h"
#include "trace/trace.h"

struct stat_report_options {
    unsigned format; /* enum table_format */
    const char *by;  /* NULL: event */
    uint64_t every;  /* ns */
    uint64_t gaps;
};

struct stat_report {
    const struct stat_report_options *options;
    struct trace *trace;
    struct tally tally;
    struct clock clock;
    int64_t from;              /* where the selection begins; INT64_MIN: with the trace */
    const struct ranges *cpus; /* that are selected; NULL: all */
    struct text *out;
    unsigned line_width; /* as in struct table_form */
};

/* How --by names enum tally_by. */
#define STAT_KINDS TALLY_BY_KEYS
extern const char *const stat_kinds[STAT_KINDS];

/* SELECTION, all of which was counted, says where the time begins. */
void stat_set_begin(struct stat_report *stat, const struct selection *selection);

/* Prints what was counted, in the format of the options. CSV has no place for what was lost: the caller reports it. 0, -ENOMEM. */
int print_stat(struct stat_report *stat);
