/* SPDX-License-Identifier: MIT */
#pragma once

/* Tightens clocks (trace/clocks.h). Internal to trace/. */

#include "base/error.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"

/* The result for one source of a directory. */
#define TIGHT_TEXT_SIZE 96
struct tight_clock {
    char *source;
    struct trace_clock clock; /* with `source` and `worst` of this struct; `input` is unused */
    char worst[TIGHT_TEXT_SIZE];
    struct clock_map map; /* valid if clock.is_tightened */
};

struct tight_clocks {
    struct tight_clock *rows;
    unsigned n;
    uint64_t n_items; /* that were read to find the clocks */
};

/* Gives TRACE the tightened clocks of its directories. OPTIONS opened TRACE, and nothing of it was read. -ENOMEM. */
int trace_tighten(struct trace *trace, const struct trace_options *options);

/* Returns NULL. */
struct tight_clocks *tight_clocks_free(struct tight_clocks *clocks);

/* Loads the clocks kept for KEY in the directory CACHE (base/cache_dir.h). Returns NULL if there are none or they
 * cannot be read. */
struct tight_clocks *tight_clocks_load(const char *cache, const char *key);
/* Keeps CLOCKS there, and removes clocks that were not used for a month. Errors are ignored. */
void tight_clocks_save(const char *cache, const char *key, const struct tight_clocks *clocks);
