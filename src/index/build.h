/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the index of a trace (index/index.h), in one pass over it. */

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"

struct item;
struct span_rule;
struct trace;

/* Zeroed: none. */
struct index_options {
    const struct span_rule *rules; /* whose spans are shown beside the built-in ones */
    unsigned n_rules;
    void (*progress)(void *arg, uint64_t done,
                     uint64_t total); /* bytes, as trace_progress(); NULL: none */
    void *progress_arg;
    const atomic_bool *stops; /* becomes true: ends early with -ECANCELED; NULL: never */
};

/* Reads all of TRACE, of which nothing was read, and writes its index to FD, an empty file that is open for reading and
 * writing. A negative errno with ERROR: FD is no index. */
int index_build(struct trace *trace, const struct index_options *options, int fd,
                struct error *error);
