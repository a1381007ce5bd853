/* SPDX-License-Identifier: MIT */
#pragma once

/* Turns declarations into event classes: the layout of a declared event's arguments in a record.
 *
 *   - Every scalar and every pointer is a u64; signed values are sign-extended. The field's `c_size` is the declared
 *     size.
 *   - A string is a u32 length, then the bytes without a NUL (STORE_COUNTED).
 *   - An event with the property `vcpu` has an additional first argument `__cpu`, a pointer, and
 *     "cpu=%p " before its format.
 *   - An event with the property `tcg` is two events, NAME_trans and NAME_exec. The first lacks the arguments of TCG
 *     types, whose values are unknown at that time.
 *
 * This is the payload of the simple backend. The reader of QEMU's log builds the same payload, so that
 * later stages need not distinguish them. */

#include "base/map.h"
#include "event/catalogue.h"
#include "schema/trace_events/trace_events.h"

enum qemu_part {
    QEMU_WHOLE,
    QEMU_TRANS, /* the two parts of a `tcg` event */
    QEMU_EXEC,
};

/* An event as the backends know it. */
struct qemu_event {
    const char *name;
    const struct declared_event *declared;
    enum qemu_part part;
};

/* All events of some declarations, in their order. An event's index is its ID in a trace without names (simpletrace
 * before version 4). */
struct qemu_events {
    struct arena arena;
    struct qemu_event *events;
    unsigned n_events;
    struct map by_name;
};

/* The declarations must outlive EVENTS and must not change. -ENOMEM: *RET_EVENTS is empty. */
int qemu_events_init(const struct declarations *declarations, struct qemu_events *ret_events);
void qemu_events_done(struct qemu_events *events);

/* Finds an event by name. If a name has several declarations, the last one counts. NULL: not declared. */
const struct qemu_event *qemu_events_find(const struct qemu_events *events, const char *name,
                                          size_t len);

/* How a wire format differs from the layout above. */
enum qemu_layout {
    QEMU_SWAPPED = 1 << 0, /* written on a machine of the other byte order */
    QEMU_WORDS = 1 << 1,   /* strings are stored as pointers: simpletrace version 0 */
};

/* Limit of arguments, including the implicit one. */
#define QEMU_ARGUMENTS_MAX (DECLARED_ARGUMENTS_MAX + 1)

/* Adds the class of EVENT, with copies of all strings, so that it does not need the declarations.
 * LAYOUT: enum qemu_layout. -ENOMEM. */
int qemu_class_add(struct catalogue *catalogue, const struct qemu_event *event,
                   const struct origin *origin, uint64_t id, unsigned layout,
                   struct event_class **ret_class);
