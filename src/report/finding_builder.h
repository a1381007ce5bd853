/* SPDX-License-Identifier: MIT */
#pragma once

/* What the rules of findings.c share: access to rows' numbers, parts of sentences, and adding a finding. */

#include "base/text.h"
#include "report/findings.h"

/* Something stands out from this share of the time on. */
#define FINDING_SHARE_MIN 0.05
/* A finding states its unknown part from this share of its time on. */
#define FINDING_UNKNOWN_MIN 0.01

struct finder {
    const struct summary *summary;
    struct findings *findings;
    struct text text; /* in memory: the sentence */
    /* The sentence is about the recording, not the workload; finder_add() resets it. */
    bool is_of_trace;
    bool is_of_all; /* the sentence is about other rows, too; finder_add() resets it */
};

const struct result *finder_result(const struct finder *finder, enum summary_part part);

/* NAN if the row has no such number. Durations are in ns, or in ticks if the rate is unknown (finding_has_ns()). */
double finding_number(const struct result *result, const struct result_row *row,
                      const char *column);
double finding_number_or_0(const struct result *result, const struct result_row *row,
                           const char *column);
bool finding_has_ns(const struct result *result);
/* "-" if there is no such key. */
const char *finding_key(const struct result *result, const struct result_row *row,
                        const char *name);

/* V as in finding_number(). */
void finding_put_time(const struct result *result, double v, struct text *text);
void finding_put_column(const struct result *result, const struct result_row *row,
                        const char *column, struct text *text);
/* Puts the clock error of a row's durations, if it is visible in a duration of NS. */
void finding_put_error(const struct result *result, const struct result_row *row, double ns,
                       struct text *text);

/* Adds the sentence in FINDER->text, with its unknown part unless that is negligible. The sentence is about COLUMN of
 * ROW; with RESULT NULL, about the whole trace. */
void finder_add(struct finder *finder, const struct result *result, const struct result_row *row,
                const char *column, double weight, const char *command);
