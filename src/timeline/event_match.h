/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of the things that one side saw are those that another saw: by a text that tells them from each other,
 * by their order, or, where some are missing on either side, by the times between them. */

#include <stddef.h>

#include "base/error.h"

struct occurrence {
    int64_t time;     /* ticks */
    const char *text; /* what tells it from the others, LEN bytes; borrowed */
    uint32_t len;
};

struct occurrences {
    const struct occurrence *items; /* in the order of time */
    size_t n;                       /* at most MATCH_MAX */
    uint64_t hz;                    /* ticks a second; 0: not known */
};

#define MATCH_MAX ((size_t)1 << 22)

enum event_match_texts {
    MATCH_NO_TEXTS,    /* they do not count */
    MATCH_TEXTS_EQUAL, /* they do where they are the same on both sides, and differ from each other */
    MATCH_BY_TEXTS,    /* they do */
};

enum event_match_by {
    MATCHED_BY_TEXT,
    MATCHED_IN_ORDER,
    MATCHED_BY_INTERVALS,
};

struct event_match {
    uint32_t a, b; /* places in both */
};

struct event_matches {
    struct event_match *items; /* malloc */
    size_t n;                  /* 1 or more */
    enum event_match_by by;
};

/* -EINVAL with ERROR, whose text wants the names of both sides in front: nothing fits, or it could be one way
 * as well as another. -ENOMEM. */
int match(const struct occurrences *a, const struct occurrences *b, enum event_match_texts how,
          struct event_matches *ret_matches, struct error *error);
void event_matches_done(struct event_matches *matches);
