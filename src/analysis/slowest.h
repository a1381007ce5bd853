/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the longest spans of an analysis (--slowest), and as many spans that have not ended. The final duration of an
 * open span is unknown, so open and ended spans do not compete. */

#include "event/item.h"

#define SLOW_STEPS 10 /* points in time of a span */

struct row;

/* One of the longest spans. Times are ticks of the trace's clock. */
struct slow_span {
    int64_t begin, end;
    bool is_open; /* at the end of the trace; it was open at least until `end` */
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin;
    const void *kind; /* meaning defined by the analysis: the span's stages, or its subject */
    struct row *row;
    int64_t at[SLOW_STEPS]; /* times of its steps, or TIME_UNKNOWN */
};

/* A heap, the shortest span on top. */
struct slow_heap {
    struct slow_span *spans;
    unsigned n;
};

/* Zeros keep no spans. */
struct slowest {
    unsigned max; /* of each kind */
    /* May be NULL. Frees the `kind` of a span that is not, or no longer, one of the longest. */
    void (*free_kind)(void *kind);
    struct slow_heap ended, open;
};

/* 0, -ENOMEM. Call slowest_done() in any case. */
int slowest_init(struct slowest *slowest, unsigned max);
void slowest_done(struct slowest *slowest);

/* True if a span of DURATION is one of the longest so far: of ended spans, or, with IS_OPEN, of open spans. */
bool slowest_would_keep(const struct slowest *slowest, int64_t duration, bool is_open);
/* Keeps SPAN if it is one of the longest. */
void slowest_keep(struct slowest *slowest, const struct slow_span *span);

/* The number of kept spans, and each of them, in no particular order. */
static inline unsigned slowest_n(const struct slowest *slowest)
{
    return slowest->ended.n + slowest->open.n;
}

static inline const struct slow_span *slowest_get(const struct slowest *slowest, unsigned i)
{
    return i < slowest->ended.n ? &slowest->ended.spans[i]
                                : &slowest->open.spans[i - slowest->ended.n];
}
