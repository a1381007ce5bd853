/* SPDX-License-Identifier: MIT */
#pragma once

/* The conditions of `strata diff --fail`: by which changes of which rows it fails. */

#include "analysis/diff.h"
#include "base/text.h"

struct diff_condition {
    char *analysis, *key; /* the key is a pattern */
    enum diff_metric metric;
    bool is_below;
    double limit; /* 0.2: 20 % */
    bool has_row;
    bool is_undecided; /* a row's rate is not known exactly enough */
};

/* Parses "ANALYSIS.KEY.METRIC > +20%" into RET, which must be zeroed. Call diff_condition_done() also after a failure.
 * -EINVAL, -ENOMEM. */
int diff_condition_parse(const char *text, struct diff_condition *ret);
void diff_condition_done(struct diff_condition *condition);

/* True if something in DIFF, of ANALYSIS, meets CONDITION. Puts a line to OUT for each row that does, or that cannot be
 * decided. */
bool diff_condition_check(struct diff_condition *condition, const char *analysis,
                          const struct diff *diff, struct text *out);
