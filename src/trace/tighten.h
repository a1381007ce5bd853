/* SPDX-License-Identifier: MIT */
#pragma once

/* Tightens clocks as trace/clocks.h says; internal to trace/. */

#include "base/error.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"

/* What a directory says of one of its sources. */
#define TIGHT_TEXT_SIZE 96
struct tight_clock {
    char *source;
    struct trace_clock
        clock; /* `source` is the one above, `worst` the one below; `input` is of no use */
    char worst[TIGHT_TEXT_SIZE];
    struct clock_map map; /* if clock.is_tightened */
};

struct tight_clocks {
    struct tight_clock *rows;
    unsigned n;
    uint64_t n_items; /* that were read for that */
};

/* Gives TRACE, which was opened with OPTIONS and has not been read, the tightened clocks of its directories. -ENOMEM. */
int trace_tighten(struct trace *trace, const struct trace_options *options);

/* Returns NULL. */
struct tight_clocks *tight_clocks_free(struct tight_clocks *clocks);

/* What was found for KEY (base/cache_dir.h) is in the directory CACHE. NULL: it is not, or it cannot be read. */
struct tight_clocks *tight_clocks_load(const char *cache, const char *key);
/* Keeps CLOCKS there, and removes what was not used for a month. What cannot be kept is not. */
void tight_clocks_save(const char *cache, const char *key, const struct tight_clocks *clocks);
