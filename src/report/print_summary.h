/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the summary of a trace: text for people, or JSON (strata-summary(1)). */

#include "analysis/summary.h"
#include "print/table.h"
#include "report/findings.h"
#include "trace/trace.h"

/* TOP: rows of each table in text; 0: all. LINE_WIDTH: as in struct table_form. 0, -ENOMEM. */
int print_summary_text(const struct summary *summary, const struct findings *findings,
                       const struct trace *trace, uint64_t top, unsigned line_width,
                       struct text *out);
int print_summary_json(const struct summary *summary, const struct findings *findings,
                       const struct trace *trace, struct text *out);
