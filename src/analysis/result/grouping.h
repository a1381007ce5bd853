/* SPDX-License-Identifier: MIT */
#pragma once

/* The keys of `--by KEY[,KEY...]`, which the events of a row share. Each is a field of the event that begins a span, or
 * one of the words
 *
 *     task pid cpu vcpu vm layer source event
 *
 * An item has a number for each key. Items are in the same group if all their numbers are equal. The first item of a
 * group names it. */

#include <stdbool.h>

#include "analysis/field_finder.h"
#include "base/error.h"
#include "base/text.h"
#include "event/catalogue.h"
#include "event/item.h"

#define GROUPING_KEYS 4

enum group_key_kind {
    GROUP_BY_FIELD,
    GROUP_BY_TASK, /* by name, otherwise by number */
    GROUP_BY_PID,
    GROUP_BY_CPU,
    GROUP_BY_VCPU,
    GROUP_BY_VM, /* the virtual machine of the monitor's thread */
    GROUP_BY_LAYER,
    GROUP_BY_SOURCE,
    GROUP_BY_EVENT,
};

struct group_key {
    enum group_key_kind kind;
    const char *name;  /* as in JSON */
    const char *title; /* the name in capitals: heading in text */
    int field;         /* its field in the last item, or -1 */
};

struct grouping {
    struct group_key keys[GROUPING_KEYS];
    unsigned n;
    struct field_finder finder;
};

/* Parses TEXT, "irq,task", into ARENA. -EINVAL with ERROR, -ENOMEM. */
int grouping_parse(const char *text, struct arena *arena, struct grouping *ret_grouping,
                   struct error *error);

/* Checks that for each field some event class of CATALOGUE has it. -ENOENT with ERROR. */
int grouping_check(const struct grouping *grouping, const struct catalogue *catalogue,
                   struct error *error);

/* Gets the numbers of ITEM's group. All items without a field have the same number for it. */
void grouping_numbers(struct grouping *grouping, const struct item *item, uint64_t *ret_numbers);

/* Puts the name of key I of ITEM, or "-". */
void grouping_put(const struct grouping *grouping, unsigned i, const struct item *item,
                  struct text *text);

/* The same for a field by its name: a scalar's value, or a hash; and the field's text. */
uint64_t grouping_field_number(struct field_finder *finder, const struct item *item,
                               const char *name);
void grouping_put_field(const struct item *item, const char *name, struct text *text);

/* Gets the value that key I names: a CPU, a thread, an integer field. False if there is none. */
bool grouping_value(const struct grouping *grouping, unsigned i, const struct item *item,
                    int64_t *ret_value);
/* True if groups are of tasks, threads, virtual machines or values of a field, which need not be on all CPUs alike. */
bool grouping_moves(const struct grouping *grouping);
/* True if the names of key I are decimal numbers. */
bool grouping_is_number(const struct grouping *grouping, unsigned i);
