/* SPDX-License-Identifier: MIT */
#pragma once

/* Things that two captures saw, by which their clocks are related: what the user says of them, and where they
 * are in a capture.
 *
 *     SYNC  := SIDE " = " SIDE       the same thing, seen by two
 *            | SIDE " < " SIDE       the first was before the second
 *     SIDE  := [SOURCE ":"] EVENT ["~" TEXT]
 *
 * EVENT is a pattern for names of events, as -e takes it; TEXT is an extended regular expression of POSIX (with
 * \d for a digit), which somewhere matches what a report shows of the event behind its name. What is in
 * parentheses in it tells one mark from another: numbers by their value, however they are written. */

#include <regex.h>

#include "base/arena.h"
#include "base/text.h"
#include "event/item.h"
#include "timeline/event_match.h"

struct common_side {
    char *event; /* with "SOURCE:" or "GROUP:" in front, as it was given */
    char *text;  /* NULL: any */
    regex_t regex;
    size_t n_groups; /* in parentheses */
};

struct common_sync {
    const char *given; /* borrowed */
    struct common_side a, b;
    bool ordered; /* a was before b */
};

/* GIVEN must outlive it. -EINVAL with ERROR: what is wrong about GIVEN; -ENOMEM. */
int common_sync_parse(const char *given, struct common_sync *ret_sync, struct error *error);
void common_sync_done(struct common_sync *sync);

/* How texts of both sides are to be compared. */
enum event_match_texts common_texts(const struct common_sync *sync);

/* Where the events of a side are in a capture. */
struct common_events {
    const struct common_side *side;
    const char *event; /* without the source */
    struct occurrence *items;
    size_t n;
    size_t capacity;
    int64_t step; /* all times are whole multiples of it, a power of ten up to 1,000,000 */
    uint8_t *classes;
    unsigned n_classes;
    struct arena arena; /* texts */
    struct text text;
};

/* EVENT is that of the side, or what is behind its source; both must outlive MARKS. */
void common_init(struct common_events *marks, const struct common_side *side, const char *event);
/* Looks at N items of a capture, in order. -ENOMEM; -E2BIG: more than MATCH_MAX match. */
int common_look(struct common_events *marks, const struct item *items, unsigned n);
void common_done(struct common_events *marks);
