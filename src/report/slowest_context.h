/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the events around the slowest spans, for `--context`. The trace is opened again for each span, and read from
 * shortly before its begin. */

#include "analysis/result/result.h"
#include "base/text.h"
#include "trace/trace.h"

struct context_span {
    int64_t from, until; /* the printed time, in ticks */
    int64_t begin, end;
    char *keys;
};

struct slowest_context {
    struct context_span *spans;
    unsigned n;
};

/* Takes the slowest spans of RESULT, with AROUND ticks before and after each. 0, -ENOMEM. */
int slowest_context_init(struct slowest_context *context, const struct result *result,
                         int64_t around);
void slowest_context_done(struct slowest_context *context);

/* Puts the events to OUT as `strata report` prints them. Opens TRACE again with OPTIONS. A negative errno with
 * ERROR. */
int slowest_context_print(const struct slowest_context *context,
                          const struct trace_options *options, const struct trace *trace,
                          struct text *out, struct error *error);
