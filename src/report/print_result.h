/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the result of an analysis: text for people, JSON (strata-analysis(7)), or CSV. */

#include "analysis/result/result.h"
#include "base/text.h"
#include "print/table.h"
#include "trace/trace.h"

struct print_options {
    enum table_format format;
    uint64_t top; /* rows; 0: all */
    bool histogram;
    bool folded;                       /* stacks instead: "KEY;KEY SUM" lines, in ns */
    const struct trace_clocks *clocks; /* NULL: nothing is known */
    const struct trace *trace; /* its paths are shown in commands; NULL: no commands are shown */
    const char *const
        *columns; /* names of those that the text has, ended by NULL; NULL: all that have a title */
    bool is_part; /* of a summary, which shows itself what all of its results have in common */
    bool has_no_footer;  /* text: only the table */
    unsigned line_width; /* as in struct table_form */
    unsigned order; /* the column that rows are sorted by: it is not left out for want of room */
};

/* CSV and stacks have no place for what was lost: the caller reports it. 0, -ENOMEM. */
int print_result(const struct result *result, const struct print_options *options,
                 struct text *out);

/* What text has below the table: events, covered time, unpaired spans, losses, notes, the slowest, histograms. */
void print_result_footer(const struct result *result, const struct print_options *options,
                         struct text *out);
/* The column over time of ROW, in at most SPARKLINE_MAX characters: one per period, or per several. */
#define SPARKLINE_MAX 48
void print_sparkline(const struct result *result, const struct result_row *row, bool of_p99,
                     struct text *out);
/* "12 events in 1.50s", the number in WIDTH characters, no newline. */
void print_events(const struct result *result, int width, struct text *out);
/* What was lost, and how much of the time is unknown, no newline; nothing was lost: nothing. */
void print_losses(const struct result *result, struct text *out);
/* " PATH" for each of TRACE, as it was given; " TRACE" for standard input, which cannot be read once more. */
void print_paths(const struct trace *trace, struct text *out);
/* The members of a JSON object that say what RESULT is of: from "analysis" to "covered_ns". */
void print_json_head(const struct result *result, struct json_writer *w);
/* The member "key" of a JSON object: what ROW of RESULT is of. */
void print_json_key(const struct result *result, const struct result_row *row,
                    struct json_writer *w);
/* How many characters a sparkline of RESULT has. */
unsigned print_sparkline_width(const struct result *result);

/* TICKS as "1.50ms" or "-1.50ms". */
void print_duration(const struct clock *clock, int64_t ticks, struct text *out);
/* The same in a sentence, where no heading says what a number without a unit is: "12 ticks". */
void print_duration_with_unit(const struct clock *clock, int64_t ticks, struct text *out);
/* Whether text has the error ERROR_NS of a duration of NS: not if it is less than 1 % of it, and is below the digits. */
bool print_shows_error(int64_t error_ns, double ns);
/* How wrong the durations of ROW may be, as COLUMN says, as text shows it: nothing if that is little. */
void print_error_ns(const struct result *result, const struct result_row *row, unsigned column,
                    struct text *out);
