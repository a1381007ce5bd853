/* SPDX-License-Identifier: MIT */
#pragma once

/* What all rules of findings.c use: numbers of rows, parts of sentences, and adding a finding. */

#include "base/text.h"
#include "report/findings.h"

/* From this share of the time on, something stands out. */
#define FINDING_SHARE_MIN 0.05
/* From this share of its time on, a finding says how much is unknown. */
#define FINDING_UNKNOWN_MIN 0.01

struct finder {
    const struct summary *summary;
    struct findings *findings;
    struct text text; /* in memory: the sentence */
    bool
        is_of_trace; /* the sentence is about the recording, not about the workload; finder_add() resets it */
    bool is_of_all; /* the sentence is of other rows, too; finder_add() resets it */
};

const struct result *finder_result(const struct finder *finder, enum summary_part part);

/* NAN: the row has no such number. Durations are ns; ticks, where the rate is not known (finding_has_ns()). */
double finding_number(const struct result *result, const struct result_row *row,
                      const char *column);
double finding_number_or_0(const struct result *result, const struct result_row *row,
                           const char *column);
bool finding_has_ns(const struct result *result);
/* "-": there is no such key. */
const char *finding_key(const struct result *result, const struct result_row *row,
                        const char *name);

/* V as in finding_number(). */
void finding_put_time(const struct result *result, double v, struct text *text);
void finding_put_column(const struct result *result, const struct result_row *row,
                        const char *column, struct text *text);
/* The clock error of a row's durations, if it shows in one of NS. */
void finding_put_error(const struct result *result, const struct result_row *row, double ns,
                       struct text *text);

/* Adds the sentence in FINDER->text, and how much is unknown, if that is not next to nothing. It is about COLUMN of ROW;
 * RESULT NULL: about the trace as a whole. */
void finder_add(struct finder *finder, const struct result *result, const struct result_row *row,
                const char *column, double weight, const char *command);
