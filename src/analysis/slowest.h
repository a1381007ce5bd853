/* SPDX-License-Identifier: MIT */
#pragma once

/* The longest spans of an analysis (--slowest), and as many of those that have not ended. How long an open span will have
 * lasted is not known: it neither takes a place among the others nor gives up its own to them. */

#include "event/item.h"

#define SLOW_STEPS 10 /* points in time of a span */

struct row;

/* One of the longest. Times are ticks of the trace's clock. */
struct slow_span {
    int64_t begin, end;
    bool is_open; /* at the end of the trace; `end`: until when it is known to be */
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin;
    const void *kind; /* the analysis's own: what its stages are, or what it is of */
    struct row *row;
    int64_t at[SLOW_STEPS]; /* of its steps; TIME_UNKNOWN: none */
};

/* A heap, the shortest on top. */
struct slow_heap {
    struct slow_span *spans;
    unsigned n;
};

/* Zeroed: none is kept. */
struct slowest {
    unsigned max; /* of each */
    /* May be NULL. A span is no longer one of the longest, or was not: frees its `kind`. */
    void (*free_kind)(void *kind);
    struct slow_heap ended, open;
};

/* 0, -ENOMEM; in either case slowest_done() follows. */
int slowest_init(struct slowest *slowest, unsigned max);
void slowest_done(struct slowest *slowest);

/* Whether a span of DURATION is one of the longest so far of those that have ended, or are open. */
bool slowest_would_keep(const struct slowest *slowest, int64_t duration, bool is_open);
/* Keeps SPAN if it is one of the longest. */
void slowest_keep(struct slowest *slowest, const struct slow_span *span);

/* How many are kept, and each of them, in no order. */
static inline unsigned slowest_n(const struct slowest *slowest)
{
    return slowest->ended.n + slowest->open.n;
}

static inline const struct slow_span *slowest_get(const struct slowest *slowest, unsigned i)
{
    return i < slowest->ended.n ? &slowest->ended.spans[i]
                                : &slowest->open.spans[i - slowest->ended.n];
}
