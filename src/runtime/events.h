/* SPDX-License-Identifier: MIT */
#pragma once

/* The registered events.
 *
 * A *class* is what an event is, apart from the library it lies in: its id, name, format and fields.
 * It stays for ever, as records with its id may lie in rings and files long after the library with
 * the event was unloaded; an event that comes back with the same declaration gets its class back.
 *
 * Lock: everything here is under registry_lock(), but for class_by_id() and class_count(). It is held
 * over fork(), so that the child finds the registry whole. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "strata/trace.h"

#define CLASS_ID_MAX 0xffff /* a record has 16 bits for it; 0 is no class */

struct filter_program;

struct trace_class {
    const char *name;
    const char *format; /* NULL: none */
    const struct strata_field *fields;
    const char *file;
    uint32_t line;
    uint32_t id;
    uint32_t hash;
    uint8_t n_fields;
    bool compiled_in;
    bool on;                    /* as it was switched last */
    bool described;             /* in the process file */
    bool filtered;              /* on where its condition holds */
    bool copied;                /* the strings and fields above are ours */
    uint32_t n_attached;        /* how many registered events are of this class */
    struct strata_event *event; /* one of them, NULL when there is none */
    struct trace_class *next;   /* of the same hash bucket */
    void *layout;               /* the writer's (runtime/record_layout.h) */
    /* The condition that it had last, NULL: never any. What these point to stays for ever
     * (runtime/filter.c); both are read without the lock. */
    _Atomic(const struct filter_program *) filter;
    _Atomic(const char *) condition;
};

void registry_lock(void);
void registry_unlock(void);

/* The class, NULL when no id like that was given. Without the lock: only what the registration has
 * fixed may be looked at, and of names and fields nothing, as an unloading library takes them away. */
struct trace_class *class_by_id(uint32_t id);
/* Ids 1 to this are given. */
uint32_t class_count(void);

/* The class of that name behind BEHIND (NULL: the first), attached or not; NULL: no more. */
struct trace_class *class_named(const char *name, const struct trace_class *behind);

/* Whether a condition decides on each call of EVENT. Acquire: then the class has its program. */
static inline bool event_is_filtered(const struct strata_event *event)
{
    if (event->own_state)
        return __atomic_load_n(&event->filtered, __ATOMIC_ACQUIRE);
    return __atomic_load_n(event->state, __ATOMIC_ACQUIRE) & STRATA_STATE_FILTERED;
}

/* The groups in the order of registration. */
struct strata_group *registry_groups(void);

/* ---- For the registration (runtime/registration.c) ---- */

/* The class with EVENT's declaration; NULL: there is none. *RET_HASH: that of its name. */
struct trace_class *class_declared(const struct strata_event *event, uint32_t *ret_hash);
/* Makes room for N more classes in the table by name. -ENOMEM. */
int registry_reserve(size_t n);
/* Gives CLASS, whose hash is set, an id, in room that was reserved. -ENOSPC, -ENOMEM. */
int registry_add_class(struct trace_class *class);
void registry_add_group(struct strata_group *group);
/* False: it is not there. */
bool registry_remove_group(struct strata_group *group);
/* N events could not be registered. Needs no lock. */
void registry_refuse(uint64_t n);

/* How many events could not be registered: memory or ids ran out, or another ABI. */
uint64_t registry_refused(void);
