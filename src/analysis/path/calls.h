/* SPDX-License-Identifier: MIT */
#pragma once

/* In which system call a thread of a kernel is, or for which lock of the kernel it waits: raw_syscalls and syscalls, lock:contention_*.
 * A call counts once its source has had the end of such a call: where ends are not recorded, nothing is said. Not thread-safe. */

#include "base/arena.h"
#include "base/map.h"
#include "event/item.h"

#define CALLS_THREADS_MAX 65536u /* whose calls are known; of others, nothing is said */

struct call_class;
struct call_source;

/* A system call of a source, or a kind of locks. */
struct call_name {
    const char *phrase;   /* to follow a comma: "in futex", "for a mutex" */
    const bool *has_ends; /* there was an end of such a call; NULL: it has no ends */
    bool own_ends;        /* of this one */
};

/* Zeroed: empty. */
struct calls {
    struct call_class *classes;
    unsigned n_classes;
    struct arena arena; /* names */
    struct map sources; /* struct call_source, by source */
};

/* Items in the order of time. 0, -ENOMEM. */
int calls_put(struct calls *calls, const struct item *item);
/* What thread PID of ORIGIN is in after the last item, if there are ends of such calls. Lent until calls_done(). NULL: in nothing. */
const struct call_name *calls_find(const struct calls *calls, const struct origin *origin,
                                   int32_t pid);
/* The phrase of NAME, which may be NULL; NULL: it is not known by now whether its ends are recorded. */
static inline const char *call_phrase(const struct call_name *name)
{
    return name && (!name->has_ends || *name->has_ends) ? name->phrase : NULL;
}
void calls_done(struct calls *calls);
