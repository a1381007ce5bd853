/* SPDX-License-Identifier: MIT */
#pragma once

/* The conditions of `strata diff --fail`: which changes of which rows let it fail. */

#include "analysis/diff.h"

struct diff_condition {
    char *analysis, *key; /* the key is a pattern */
    enum diff_metric metric;
    bool is_below;
    double limit; /* 0.2: 20 % */
    bool has_row;
    bool is_undecided; /* a row's rate is not known well enough */
};

/* "ANALYSIS.KEY.METRIC > +20%" into RET, which is zeroed and is freed by diff_condition_done(), also after a failure.
 * -EINVAL, -ENOMEM. */
int diff_condition_parse(const char *text, struct diff_condition *ret);
void diff_condition_done(struct diff_condition *condition);

/* Prints what of DIFF, which is of ANALYSIS, meets CONDITION, after its TEXT. Whether something does. */
bool diff_condition_check(struct diff_condition *condition, const char *text, const char *analysis,
                          const struct diff *diff);
