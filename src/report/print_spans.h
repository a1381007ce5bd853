/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the spans of an analysis as they end, one line each: text, JSON (as in `slowest` of strata-analysis(7)),
 * CSV. */

#include "analysis/analysis.h"
#include "print/table.h"

#define SPAN_COLUMNS 8

struct span_printer {
    struct table table;
    struct table_column columns[SPAN_COLUMNS + 2 * RESULT_KEYS];
    char numbered[RESULT_KEYS][32]; /* "reason_value" */
    bool is_number[RESULT_KEYS];
    unsigned n_keys;
    uint64_t n; /* printed so far */
    struct clock clock;
    /* Causes and effects contradict the stated errors, so errors are unknown. */
    bool is_error_refuted;
};

void print_spans_begin(struct span_printer *printer, struct analysis *analysis,
                       enum table_format format, struct text *out);
void print_span(struct span_printer *printer, const struct analysis_span *span);
/* Losses are not printed; the caller reports them. 0, -ENOMEM. */
int print_spans_end(struct span_printer *printer);
