/* SPDX-License-Identifier: MIT */
#pragma once

/* The registered events.
 *
 * A *class* describes an event independently of the library that contains it: its ID, name, format and fields. A class
 * is never freed, because rings and files may contain records with its ID long after the library was unloaded. An event
 * that is registered again with the same declaration gets the same class.
 *
 * Lock: everything here requires registry_lock(), except class_by_id() and class_count(). The lock is held during
 * fork(), so that the child's registry is consistent. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "strata/trace.h"

#define CLASS_ID_MAX 0xffff /* a record has 16 bits for the ID; 0 is not a class */

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
    bool on;                    /* as it was last switched */
    bool described;             /* described in the process file */
    bool filtered;              /* on if its condition holds */
    bool copied;                /* the library owns the strings and fields above */
    uint32_t n_attached;        /* number of registered events of this class */
    struct strata_event *event; /* one of its events, or NULL */
    struct trace_class *next;   /* in the same hash bucket */
    void *layout;               /* for the writer (runtime/ring/record_layout.h) */
    /* Its last condition; NULL: never any. The objects are never freed (runtime/control/filter_set.c). Both members are
     * read without the lock. */
    _Atomic(const struct filter_program *) filter;
    _Atomic(const char *) condition;
};

void registry_lock(void);
void registry_unlock(void);

/* The class with this ID, or NULL. Without the lock, only fields that registration has fixed may be read, but not names
 * and fields, because unloading a library frees them. */
struct trace_class *class_by_id(uint32_t id);
/* The highest assigned ID; IDs begin at 1. */
uint32_t class_count(void);

/* The next class of this name after BEHIND (NULL: the first class), attached or not; NULL: no more. */
struct trace_class *class_named(const char *name, const struct trace_class *behind);

/* True if a condition decides on each call of EVENT. Acquire: then the class has its program. */
static inline bool event_is_filtered(const struct strata_event *event)
{
    if (event->own_state)
        return __atomic_load_n(&event->filtered, __ATOMIC_ACQUIRE);
    return __atomic_load_n(event->state, __ATOMIC_ACQUIRE) & STRATA_STATE_FILTERED;
}

/* The groups in the order of registration. */
struct strata_group *registry_groups(void);

/* ---- For the registration (runtime/control/registration.c) ---- */

/* The class with EVENT's declaration, or NULL. *RET_HASH: the hash of its name. */
struct trace_class *class_declared(const struct strata_event *event, uint32_t *ret_hash);
/* Makes room for N more classes in the table by name. -ENOMEM. */
int registry_reserve(size_t n);
/* Assigns an ID to CLASS, whose hash is set, in reserved memory. -ENOSPC, -ENOMEM. */
int registry_add_class(struct trace_class *class);
void registry_add_group(struct strata_group *group);
/* Returns false if the group is not registered. */
bool registry_remove_group(struct strata_group *group);
/* Counts N events that could not be registered. Needs no lock. */
void registry_refuse(uint64_t n);

/* The number of events that could not be registered, because memory or IDs ran out, or because of another ABI. */
uint64_t registry_refused(void);
