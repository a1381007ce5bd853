/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds a field of a class by name without comparing names for each event, by a cache of recent lookups. */

#include <stdint.h>

#include "base/macro.h"
#include "event/kernel_event.h"

#define FIELD_FINDER_RECENT 32

/* Zeros are an empty one. */
struct field_finder {
    struct {
        const struct event_class *class;
        const char *name;
        int field;
    } recent[FIELD_FINDER_RECENT];
};

/* kernel_event_field() of CLASS and NAME. NAME must not change while FINDER is used. */
static inline int field_finder_get(struct field_finder *finder, const struct event_class *class,
                                   const char *name)
{
    unsigned place = (class->index + (unsigned)((uintptr_t)name >> 2)) % FIELD_FINDER_RECENT;

    if (unlikely(finder->recent[place].class != class || finder->recent[place].name != name)) {
        finder->recent[place].class = class;
        finder->recent[place].name = name;
        finder->recent[place].field = kernel_event_field(class, name);
    }
    return finder->recent[place].field;
}
