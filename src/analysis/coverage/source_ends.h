/* SPDX-License-Identifier: MIT */
#pragma once

/* Until when the data of each source of a trace goes, and so until when a span that has not ended is known to have lasted: its
 * end may be in what a source has not handed over yet, however much later others go on. That is its last event, or, where all
 * was recorded (origin->known_until), the last one of any source before that: what hangs may be silent.
 *
 * Not thread-safe. */

#include "analysis/spans/spans.h"

struct source_end {
    const struct origin *origin;
    int64_t time;      /* ticks of the trace's clock; TIME_UNKNOWN: it has no events */
    uint32_t error_ns; /* of that time */
    bool is_lost;      /* there is a loss after it */
};

/* All 0: of no source. */
struct source_ends {
    struct source_end *items;
    unsigned n;
    unsigned recent; /* the one that was found last */
    int64_t last;    /* the latest event of any */
};

void source_ends_done(struct source_ends *ends);
/* The next items of the trace, of which losses do not count. 0, -ENOMEM. */
int source_ends_put(struct source_ends *ends, const struct item *items, unsigned n);
/* All events of ORIGIN up to TIME were put, whether there are any or not. 0, -ENOMEM. */
int source_ends_note(struct source_ends *ends, const struct origin *origin, int64_t time,
                     uint32_t error_ns);

/* Of events of ORIGIN. */
struct source_end source_ends_find(const struct source_ends *ends, const struct origin *origin);
/* Until when SPAN of SPANS, which is open, has certainly not ended: the latest end of data that has none of the steps that it
 * lacks. Of a step that may be an event of several sources, the earliest end of these. */
struct source_end source_ends_find_open(const struct source_ends *ends, const struct spans *spans,
                                        const struct span *span);
