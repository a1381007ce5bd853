/* SPDX-License-Identifier: MIT */
#pragma once

/* Tracks until when each source of a trace has data. An open span is known to have lasted so long. Its end may be among
 * events that its source has not handed over, however much later other sources end. A source has data until its last
 * event. If everything was recorded (origin->known_until), it has data until the last event of any source before that
 * time, because what hangs may be silent.
 *
 * Not thread-safe. */

#include "analysis/spans/spans.h"

struct source_end {
    const struct origin *origin;
    int64_t time;      /* in ticks of the trace's clock; TIME_UNKNOWN without events */
    uint32_t error_ns; /* of that time */
    bool is_lost;      /* a loss follows */
};

/* Zeros are an empty one. */
struct source_ends {
    struct source_end *items;
    unsigned n;
    unsigned recent; /* the last one found */
    int64_t last;    /* latest event of any source */
};

void source_ends_done(struct source_ends *ends);
/* Adds the next items of the trace. Losses do not count. 0, -ENOMEM. */
int source_ends_put(struct source_ends *ends, const struct item *items, unsigned n);
/* Notes that all events of ORIGIN up to TIME were put, if there are any. 0, -ENOMEM. */
int source_ends_note(struct source_ends *ends, const struct origin *origin, int64_t time,
                     uint32_t error_ns);

/* The end of ORIGIN's data. */
struct source_end source_ends_find(const struct source_ends *ends, const struct origin *origin);
/* Until when the open SPAN of SPANS has certainly not ended: the latest end of data without one of the steps that it
 * lacks. If several sources may have a step, their earliest end counts. */
struct source_end source_ends_find_open(const struct source_ends *ends, const struct spans *spans,
                                        const struct span *span);
