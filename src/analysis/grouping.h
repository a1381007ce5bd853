/* SPDX-License-Identifier: MIT */
#pragma once

/* What the rows of an analysis have in common: the keys of `--by KEY[,KEY…]`. Each is a field of the event that begins
 * a span, or one of the words
 *
 *     task cpu vcpu layer source event
 *
 * An item has a number for each; two items are of one group where all their numbers are the same. How a group is
 * called, its first item tells. */

#include "base/error.h"
#include "base/text.h"
#include "event/catalogue.h"
#include "event/item.h"

#define GROUPING_KEYS 4

enum group_key_kind {
    GROUP_BY_FIELD,
    GROUP_BY_TASK, /* by name, where there is one, else by number */
    GROUP_BY_PID,
    GROUP_BY_CPU,
    GROUP_BY_VCPU,
    GROUP_BY_LAYER,
    GROUP_BY_SOURCE,
    GROUP_BY_EVENT,
};

struct group_key {
    enum group_key_kind kind;
    const char *name; /* as in headings and in JSON */
    /* The class seen last, and which of its fields this is; -1: it has none. */
    const struct event_class *class;
    int field;
};

struct grouping {
    struct group_key keys[GROUPING_KEYS];
    unsigned n;
};

/* Reads TEXT, "irq,task". Strings are in ARENA. -EINVAL with ERROR, -ENOMEM. */
int grouping_parse(const char *text, struct arena *arena, struct grouping *ret_grouping,
                   struct error *error);

/* Whether an event class of CATALOGUE has each field. -ENOENT with ERROR. */
int grouping_check(const struct grouping *grouping, const struct catalogue *catalogue,
                   struct error *error);

/* The numbers of ITEM's group; the same for all items of the group. A field that the event has not is a number of its
 * own. */
void grouping_numbers(struct grouping *grouping, const struct item *item, uint64_t *ret_numbers);

/* What key I of ITEM is called. "-": it has none. */
void grouping_put(const struct grouping *grouping, unsigned i, const struct item *item,
                  struct text *text);
