/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the result of an analysis: text for people, JSON (strata-analysis(7)), or CSV. */

#include "analysis/result/result.h"
#include "base/text.h"
#include "print/table.h"
#include "trace/trace.h"

struct print_options {
    enum table_format format;
    uint64_t top; /* number of rows; 0: all */
    bool histogram;
    bool folded;                       /* print stacks instead: lines "KEY;KEY SUM", in ns */
    const struct trace_clocks *clocks; /* may be NULL */
    const struct trace *trace; /* its paths are shown in commands; NULL: no commands are shown */
    /* Names of the columns in text, terminated by NULL; NULL: all columns that have a title. */
    const char *const *columns;
    bool is_part;        /* part of a summary, which itself shows what its results have in common */
    bool has_no_footer;  /* text: only the table */
    unsigned line_width; /* as in struct table_form */
    /* The column by which rows are sorted; always shown, however narrow the terminal. */
    unsigned order;
};

/* CSV and stacks do not contain losses, so the caller reports them. 0, -ENOMEM. */
int print_result(const struct result *result, const struct print_options *options,
                 struct text *out);

/* Prints what text has below the table: events, covered time, unpaired spans, losses, notes, the slowest,
 * histograms. */
void print_result_footer(const struct result *result, const struct print_options *options,
                         struct text *out);
/* Prints the values of ROW over time, in at most SPARKLINE_MAX characters. A character shows one or several periods. */
#define SPARKLINE_MAX 48
void print_sparkline(const struct result *result, const struct result_row *row, bool of_p99,
                     struct text *out);
/* Prints "12 events in 1.50s" without a newline, the number in WIDTH characters. */
void print_events(const struct result *result, int width, struct text *out);
/* Prints what was lost, and how much of the time is unknown, without a newline; nothing if nothing was lost. */
void print_losses(const struct result *result, struct text *out);
/* Prints " PATH" for each path of TRACE, as given; " TRACE" for standard input, which cannot be read again. */
void print_paths(const struct trace *trace, struct text *out);
/* Writes the members of a JSON object that describe RESULT: from "analysis" to "covered_ns". */
void print_json_head(const struct result *result, struct json_writer *w);
/* Writes the member "key" of a JSON object: the keys of ROW in RESULT. */
void print_json_key(const struct result *result, const struct result_row *row,
                    struct json_writer *w);
/* The number of characters of a sparkline for RESULT. */
unsigned print_sparkline_width(const struct result *result);

/* Prints TICKS as "1.50ms" or "-1.50ms". */
void print_duration(const struct clock *clock, int64_t ticks, struct text *out);
/* The same in a sentence, which has no heading that states the unit: "12 ticks". */
void print_duration_with_unit(const struct clock *clock, int64_t ticks, struct text *out);
/* True if text shows the error ERROR_NS of a duration of NS: if it is at least 1 % of the duration, or visible in its
 * digits. */
bool print_shows_error(int64_t error_ns, double ns);
/* Prints the error of ROW's durations in COLUMN, as text shows it; nothing if it is small. */
void print_error_ns(const struct result *result, const struct result_row *row, unsigned column,
                    struct text *out);
