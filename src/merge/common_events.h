/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds events that two traces have in common, to relate their clocks by: parses the user's rules, and collects the
 * events of a trace that match them.
 *
 *     SYNC  := SIDE " = " SIDE       the same event in both traces
 *            | SIDE " < " SIDE       the first event happened before the second
 *     SIDE  := [SOURCE ":"] EVENT ["~" TEXT]
 *
 * EVENT is a pattern of event names, as for -e. TEXT is a regular expression (libraries/regex.h) that must match a part
 * of the text that a report prints after the event's name. Groups in parentheses identify an event. Numbers in them are
 * compared by value, however they are written. */

#include "base/arena.h"
#include "base/text.h"
#include "event/item.h"
#include "libraries/regex.h"
#include "timeline/event_match.h"

struct common_side {
    char *event; /* as given, with "SOURCE:" or "GROUP:" before it */
    char *text;  /* NULL: any text */
    struct regex *regex;
    unsigned n_groups; /* groups in parentheses */
};

struct common_sync {
    const char *given; /* borrowed */
    struct common_side a, b;
    bool ordered; /* event a happened before event b */
};

/* GIVEN must outlive RET_SYNC. -EINVAL with ERROR if GIVEN is malformed; -ENOMEM. */
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
    int64_t step; /* all times are multiples of it; a power of ten up to 1,000,000 */
    uint8_t *classes;
    unsigned n_classes;
    struct arena arena; /* owns the texts */
    struct text text;
};

/* EVENT is the side's event without its source. SIDE and EVENT must outlive MARKS. */
void common_init(struct common_events *marks, const struct common_side *side, const char *event);
/* Adds the matches among N items of a trace, in their order. -ENOMEM; -E2BIG if more than MATCH_MAX match; -ETIMEDOUT
 * if matching TEXT takes too long. */
int common_look(struct common_events *marks, const struct item *items, unsigned n);
void common_done(struct common_events *marks);
