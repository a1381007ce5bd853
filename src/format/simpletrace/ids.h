/* SPDX-License-Identifier: MIT */
#pragma once

/* The event IDs of one simpletrace file, and the classes of the IDs that occur. Only for the reader.
 *
 * The file states the name of an ID (version 4), or its position in the declarations determines it. A name gets a class
 * at its first event, because a file names thousands of events of its QEMU and has few of them. The numbers of IDs,
 * names and classes are limited, whatever a file contains. */

#include "base/map.h"
#include "base/text.h"
#include "event/catalogue.h"
#include "schema/trace_events/qemu_class.h"

/* IDs are dense and small in every file that QEMU has written. IDs below this limit are in plain tables. */
#define SIMPLETRACE_DENSE_IDS 65536

struct named {
    const char *name;
    size_t len;
    const struct event_class *class; /* NULL: not made yet */
};

struct simpletrace_ids {
    struct catalogue *catalogue;
    const struct qemu_events *events; /* NULL: nothing is declared */
    const struct origin *origin;
    bool swap;
    unsigned version;

    /* by ID, below n_dense; NULL: use simpletrace_ids_class() */
    const struct event_class **classes;
    struct named **names; /* the same */
    size_t n_dense;
    struct map sparse;  /* ID -> struct named, in the catalogue's arena */
    struct map by_name; /* name -> its struct named */

    /* Events by position, if the file has no names. */
    const struct qemu_event **positions;
    uint64_t n_positions;

    unsigned n_nameless;
    struct named *nameless; /* shared by IDs without a name once there are too many */
    unsigned n_undeclared;  /* number of classes of undeclared events */
    struct text undeclared; /* names of the first undeclared events */
};

/* IDS must be zero except catalogue, events, origin, swap and version. BY_POSITION: the file has no names. -ENOMEM.
 * Call simpletrace_ids_done() in any case. */
int simpletrace_ids_init(struct simpletrace_ids *ids, bool by_position);
void simpletrace_ids_done(struct simpletrace_ids *ids);

/* From now on, ID means the event with this name. -E2BIG: too many names or IDs; -ENOMEM. */
int simpletrace_ids_name(struct simpletrace_ids *ids, uint64_t id, const char *name, size_t len);

/* Returns the class of an ID that `classes` does not have, and creates it if necessary. -E2BIG, -ENOMEM. */
int simpletrace_ids_class(struct simpletrace_ids *ids, uint64_t id,
                          const struct event_class **ret_class);

/* True if ID has a meaning by its name or position. *RET_CLASS: its class, or NULL if that does not exist yet. */
bool simpletrace_ids_known(const struct simpletrace_ids *ids, uint64_t id,
                           const struct event_class **ret_class);
