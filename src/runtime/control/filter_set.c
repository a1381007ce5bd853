/* SPDX-License-Identifier: MIT */
#include "runtime/control/filter_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/events.h"
#include "runtime/macro.h"
#include "runtime/process/thread_number.h"

/* How emitted events are judged by conditions that change.
 *
 * The state of an event is 0: off; 1: on; 3: on if its condition holds. trace_NAME() tests this one byte, and calls
 * strata_filter_pass() only if it is 3. The class of the event (runtime/events.h) has the program. If the state belongs
 * to the traced program (`own_state`), the byte `filtered` of the event replaces the second bit.
 *
 *  1. A program never changes once a class points to it, and is never freed: a thread may be in the middle of a program
 *  for any time, also in a signal handler, and no thread must wait for it or count it. Equal programs are stored once.
 *  So switching between conditions, or one condition for thousands of events with the same arguments, takes no memory.
 *  All programs together may have KEPT_MAX bytes; beyond that, new conditions are refused.
 *
 *  2. The class gets its program (release) before the state becomes 3 (release). strata_filter_pass() loads the state
 *  again, once, by acquire; if it is 3, it sees this program or a later one. With an own state, `filtered` is set
 *  before the state and cleared after it, and is read before and after the state is loaded. So the event cannot appear
 *  on without a condition while it changes from off to on with a condition, or back, unless both changes happen between
 *  these loads.
 *
 *  3. Removing a condition only changes the state. A thread that has seen 3 before then finds another state, or runs
 *  the earlier program, as if it had come a moment earlier. So each call is judged by one condition that was in force
 *  during the call, and no call falls between two conditions. */

#define KEPT_MAX (4 << 20)
#define BUCKETS 1024

struct kept {
    struct kept *next;
    size_t size;
    _Alignas(8) char data[];
};

static struct kept *kept[BUCKETS];
static size_t kept_size;

/* The bytes at DATA, as they are kept for ever, 8-aligned. -ENOMEM, -ENOSPC. */
static int keep(const void *data, size_t size, const void **ret)
{
    const uint8_t *p = data;
    uint32_t hash = 2166136261u;
    struct kept **bucket;
    struct kept *entry;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 16777619u;
    bucket = &kept[(hash ^ hash >> 16) % BUCKETS];
    for (entry = *bucket; entry; entry = entry->next)
        if (entry->size == size && memcmp(entry->data, data, size) == 0) {
            *ret = entry->data;
            return 0;
        }
    if (size > KEPT_MAX - kept_size)
        return -ENOSPC;
    entry = malloc(sizeof(*entry) + size);
    if (!entry)
        return -ENOMEM;
    entry->next = *bucket;
    entry->size = size;
    memcpy(entry->data, data, size);
    *bucket = entry;
    kept_size += size;
    *ret = entry->data;
    return 0;
}

int filter_set(struct trace_class *class, const struct filter_condition *condition,
               struct filter_error *error, struct filter_error *warning)
{
    _cleanup_free_ struct filter_program *program = NULL;
    const void *kept_program;
    const void *text;
    int r;

    error->column = 0;
    r = filter_compile(condition, class->fields, class->n_fields, &program, error, warning);
    if (r < 0)
        return r;
    if (!filter_verify(program, program->size, class->fields, class->n_fields))
        return filter_fail(error, 1, "cannot be compiled: this is a fault of Strata's");
    r = keep(condition->text, strlen(condition->text) + 1, &text);
    if (r >= 0)
        r = keep(program, program->size, &kept_program);
    if (r == -ENOSPC)
        return filter_fail(error, 1, "this process has had too many different conditions");
    if (r < 0)
        return r;
    atomic_store_explicit(&class->filter, (const struct filter_program *)kept_program,
                          memory_order_release);
    atomic_store_explicit(&class->condition, (const char *)text, memory_order_relaxed);
    return 0;
}

/* Of an own state, ON alone or FILTERED. */
static unsigned load_state(const struct strata_event *event)
{
    bool on;

    if (!event->own_state)
        return __atomic_load_n(event->state, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&event->filtered, __ATOMIC_ACQUIRE))
        return STRATA_STATE_FILTERED;
    on = __atomic_load_n((const uint16_t *)(const void *)event->state, __ATOMIC_ACQUIRE) != 0;
    if (on && __atomic_load_n(&event->filtered, __ATOMIC_ACQUIRE))
        return STRATA_STATE_FILTERED;
    return on;
}

bool strata_filter_pass(const struct strata_event *event, const uint64_t *values)
{
    const struct filter_program *program;
    const struct trace_class *class;

    if (!event) /* strata_ring_bind() */
        return false;
    switch (load_state(event)) {
    case 0: return false;
    case STRATA_STATE_ON: return true;
    }
    class = class_by_id(event->id);
    program = class ? atomic_load_explicit(&class->filter, memory_order_acquire) : NULL;
    return !program || filter_run(program, values, thread_number);
}
