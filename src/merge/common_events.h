/* SPDX-License-Identifier: MIT */
#pragma once

/* Events that two traces have in common, by which their clocks are related: the user's rules, and the
 * events of a trace that match them.
 *
 *     SYNC  := SIDE " = " SIDE       the same event, recorded by two
 *            | SIDE " < " SIDE       the first one happened before the second
 *     SIDE  := [SOURCE ":"] EVENT ["~" TEXT]
 *
 * EVENT is a pattern of event names, as for -e. TEXT is a regular expression (libraries/regex.h) that must
 * match somewhere in the text that a report prints after the event's name. What parentheses in it
 * enclose identifies an event: numbers by their value, however they are written. */

#include "base/arena.h"
#include "base/text.h"
#include "event/item.h"
#include "libraries/regex.h"
#include "timeline/event_match.h"

struct common_side {
    char *event; /* as given, with "SOURCE:" or "GROUP:" before it */
    char *text;  /* NULL: any */
    struct regex *regex;
    unsigned n_groups; /* in parentheses */
};

struct common_sync {
    const char *given; /* borrowed */
    struct common_side a, b;
    bool ordered; /* a was before b */
};

/* GIVEN must outlive RET_SYNC. -EINVAL with ERROR: what is wrong with GIVEN; -ENOMEM. */
int common_sync_parse(const char *given, struct common_sync *ret_sync, struct error *error);
void common_sync_done(struct common_sync *sync);

/* How the texts of both sides are compared. */
enum event_match_texts common_texts(const struct common_sync *sync);

/* The events of a trace that match a side. */
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

/* EVENT is that of the side, without its source; SIDE and EVENT must outlive MARKS. */
void common_init(struct common_events *marks, const struct common_side *side, const char *event);
/* Adds the matches among N items of a trace, in order. -ENOMEM; -E2BIG: more than MATCH_MAX match; -ETIMEDOUT: TEXT
 * takes too long on one. */
int common_look(struct common_events *marks, const struct item *items, unsigned n);
void common_done(struct common_events *marks);
