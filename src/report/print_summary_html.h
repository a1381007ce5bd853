/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the summary of a trace as a page (strata-summary(1)), for a browser or a bug report. The numbers are those of
 * the JSON. */

#include "analysis/summary.h"
#include "report/findings.h"
#include "trace/trace.h"

struct summary_page {
    const struct summary *summary;
    const struct findings *findings;
    const struct trace *trace;
    const char *made_by; /* the command line */
    const struct error
        *error;        /* why reading ended before the end of the trace; code 0: it did not */
    uint64_t top;      /* rows of a table; 0: all */
    struct text paths; /* of TRACE, each after a blank; for print_summary_html() */
};

/* 0, -ENOMEM. */
int print_summary_html(struct summary_page *page, struct text *out);

/* A section with the table of PART; and a row "MORE more rows" of what TOP left out. For print_summary_html(). 0,
 * -ENOMEM. */
int print_summary_html_part(const struct summary_page *page, unsigned part, struct text *out);
/* "strata COMMAND PATH…" as a command. */
void print_summary_html_command(const struct summary_page *page, const char *command,
                                struct text *out);
/* The name that JSON and --sort have, with blanks and the unit: "wake p99", "run %". */
void print_summary_html_label(const struct result_column *column, struct text *out);
/* The lines of LINES, which are freed, as paragraphs. 0, -ENOMEM. */
int print_summary_html_lines(struct text *lines, struct text *out);
