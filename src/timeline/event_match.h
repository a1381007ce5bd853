/* SPDX-License-Identifier: MIT */
#pragma once

/* Pairs events that two sides have recorded: by a text that identifies them, by their order, or, if some are missing on
 * a side, by the intervals between them. */

#include <stddef.h>

#include "base/error.h"

struct occurrence {
    int64_t time;     /* ticks */
    const char *text; /* identifies the event, LEN bytes; borrowed */
    uint32_t len;
};

struct occurrences {
    const struct occurrence *items; /* in the order of time */
    size_t n;                       /* at most MATCH_MAX */
    uint64_t hz;                    /* ticks per second; 0: unknown */
};

#define MATCH_MAX ((size_t)1 << 22)

enum event_match_texts {
    MATCH_NO_TEXTS, /* texts do not count */
    /* texts count if they are equal on both sides and differ from each other */
    MATCH_TEXTS_EQUAL,
    MATCH_BY_TEXTS, /* texts count */
};

enum event_match_by {
    MATCHED_BY_TEXT,
    MATCHED_IN_ORDER,
    MATCHED_BY_INTERVALS,
};

struct event_match {
    uint32_t a, b; /* indexes in both sides */
};

struct event_matches {
    struct event_match *items; /* malloc */
    size_t n;                  /* 1 or more */
    enum event_match_by by;
};

/* -EINVAL with ERROR: nothing matches, or several pairings fit equally well; the caller puts its text after the names
 * of both sides. -ENOMEM. */
int event_match_find(const struct occurrences *a, const struct occurrences *b,
                     enum event_match_texts how, struct event_matches *ret_matches,
                     struct error *error);
void event_matches_done(struct event_matches *matches);
