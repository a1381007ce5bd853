/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the summary of a trace as a page (strata-summary(1)), for a browser or a bug report. It has the same numbers
 * as the JSON. */

#include "analysis/summary.h"
#include "report/findings.h"
#include "trace/trace.h"

struct summary_page {
    const struct summary *summary;
    const struct findings *findings;
    const struct trace *trace;
    const char *made_by; /* the command line */
    const struct error
        *error;   /* why reading ended before the end of the trace; its code is 0 if it did not */
    uint64_t top; /* rows of a table; 0: all */
    struct text paths; /* of `trace`, each after a blank; print_summary_html() sets it */
};

/* 0, -ENOMEM. */
int print_summary_html(struct summary_page *page, struct text *out);

/* Puts a section with the table of PART, and a row "MORE more rows" if TOP leaves out rows. For print_summary_html().
 * 0, -ENOMEM. */
int print_summary_html_part(const struct summary_page *page, unsigned part, struct text *out);
/* Puts "strata COMMAND PATH…" as a command. */
void print_summary_html_command(const struct summary_page *page, const char *command,
                                struct text *out);
/* Puts a column's name in JSON and --sort, with blanks and the unit: "wake p99", "run %". */
void print_summary_html_label(const struct result_column *column, struct text *out);
/* Puts the lines of LINES as paragraphs, and frees LINES. 0, -ENOMEM. */
int print_summary_html_lines(struct text *lines, struct text *out);
