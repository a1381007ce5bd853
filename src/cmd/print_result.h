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
    bool folded;               /* stacks instead: "KEY;KEY SUM" lines, in ns */
    const struct trace *trace; /* its paths are shown in commands; NULL: no commands are shown */
};

/* 0, -ENOMEM. */
int print_result(const struct result *result, const struct print_options *options,
                 struct text *out);

/* What text has below the table: events, covered time, unpaired spans, losses, notes, the slowest, histograms. */
void print_result_footer(const struct result *result, const struct print_options *options,
                         struct text *out);
/* The column over time of ROW, in at most SPARKLINE_MAX characters: one per period, or per several. */
#define SPARKLINE_MAX 48
void print_sparkline(const struct result *result, const struct result_row *row, bool of_p99,
                     struct text *out);
/* How many characters a sparkline of RESULT has. */
unsigned print_sparkline_width(const struct result *result);

/* TICKS as "1.50ms" or "-1.50ms". */
void print_duration(const struct clock *clock, int64_t ticks, struct text *out);
