/* SPDX-License-Identifier: MIT */
#pragma once

/* Spans of the rules that the user gave (`strata export --pairs`), drawn on lanes: a track for each span of a rule that
 * is open at a time. analysis/spans.h finds them; their events are drawn as ever, too. */

#include "analysis/spans.h"

struct slices;

struct pair_spans {
    struct spans spans;
    struct slices *slices;
    const struct item *item; /* that is put */
};

/* The rules of slices->options. 0, -ENOMEM. */
int pair_spans_init(struct pair_spans *pair_spans, struct slices *slices);
void pair_spans_done(struct pair_spans *pair_spans);
/* 0, or a negative errno. */
int pair_spans_put(struct pair_spans *pair_spans, const struct item *item);
