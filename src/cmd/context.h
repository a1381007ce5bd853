/* SPDX-License-Identifier: MIT */
#pragma once

/* The events around the slowest spans, for `--context`: the trace is opened again for each of them, and read from a
 * little before its begin. */

#include "analysis/result.h"
#include "base/text.h"
#include "cmd/walk.h"

struct context_span {
    int64_t from, until; /* what is printed, in ticks */
    int64_t begin, end;
    char *keys;
};

struct context {
    struct context_span *spans;
    unsigned n;
};

/* The slowest of RESULT, with AROUND ticks on both sides. 0, -ENOMEM. */
int context_init(struct context *context, const struct result *result, int64_t around);
void context_done(struct context *context);

/* Prints the events as `strata report` does. An exit status; errors are printed. */
int context_print(const struct context *context, const struct open_options *options,
                  const struct trace *trace, struct text *out);
