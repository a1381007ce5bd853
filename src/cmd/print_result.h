/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the result of an analysis: text for people, JSON (strata-analysis(7)), or CSV. */

#include "analysis/result.h"
#include "base/text.h"
#include "print/table.h"
#include "trace/trace.h"

struct print_options {
    enum table_format format;
    uint64_t top; /* rows; 0: all */
    bool histogram;
    const struct trace *trace; /* its paths are shown in commands; NULL: no commands are shown */
};

/* 0, -ENOMEM. */
int print_result(const struct result *result, const struct print_options *options,
                 struct text *out);

/* What text has below the table: events, covered time, unpaired spans, losses, notes, the slowest, histograms. */
void print_result_footer(const struct result *result, const struct print_options *options,
                         struct text *out);
/* TICKS as "1.50ms" or "-1.50ms". */
void print_duration(const struct clock *clock, int64_t ticks, struct text *out);
