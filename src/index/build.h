/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the index of a trace (index/index.h), in one pass over it. */

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"

struct item;
struct span_rule;
struct trace;

/* Zeros are no options. */
struct index_options {
    const struct span_rule *rules; /* rules whose spans are shown besides the built-in ones */
    unsigned n_rules;
    void (*progress)(void *arg, uint64_t done,
                     uint64_t total); /* in bytes, as trace_progress(); may be NULL */
    void *progress_arg;
    /* When it becomes true, building ends early with -ECANCELED; may be NULL. */
    const atomic_bool *stops;
};

/* Reads all of TRACE, of which nothing was read before, and writes its index to FD, an empty file open for reading and
 * writing. A negative errno with ERROR if FD is not a complete index. */
int index_build(struct trace *trace, const struct index_options *options, int fd,
                struct error *error);
