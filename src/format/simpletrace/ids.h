/* SPDX-License-Identifier: MIT */
#pragma once

/* What the event ids of one simpletrace file stand for, and the classes of those that occur. For the
 * reader alone.
 *
 * An id has a name by the file (version 4) or by its position among the declarations; the name has a
 * class once the first event of it comes: a file names all events of its QEMU, thousands, and has a
 * few. Ids, names and classes are bounded in number, whatever a file holds. */

#include "base/map.h"
#include "base/text.h"
#include "event/catalogue.h"
#include "schema/trace_events/qemu_class.h"

/* Ids are dense and small in every file that QEMU wrote: those below this have plain tables. */
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

    const struct event_class **classes; /* by id, below n_dense; NULL: ask for it */
    struct named **names;               /* the same */
    size_t n_dense;
    struct map sparse;  /* id -> struct named, which lives in the catalogue's arena */
    struct map by_name; /* name -> the one struct named for it */

    /* What an id is by its position, where there are no names. */
    const struct qemu_event **positions;
    uint64_t n_positions;

    unsigned n_nameless;
    struct named *nameless; /* shared by ids without a name once there are too many */
    unsigned n_undeclared;  /* classes of events that are not declared */
    struct text undeclared; /* the names of the first of them */
};

/* Catalogue, events, origin, swap and version are set, all else is 0. BY_POSITION: the file has no
 * names. -ENOMEM; simpletrace_ids_done() is due in any case. */
int simpletrace_ids_init(struct simpletrace_ids *ids, bool by_position);
void simpletrace_ids_done(struct simpletrace_ids *ids);

/* From here on ID stands for the event of this name. -E2BIG: too many names or ids; -ENOMEM. */
int simpletrace_ids_name(struct simpletrace_ids *ids, uint64_t id, const char *name, size_t len);

/* The class of an id that `classes` has none for, made when need be. -E2BIG, -ENOMEM. */
int simpletrace_ids_class(struct simpletrace_ids *ids, uint64_t id,
                          const struct event_class **ret_class);

/* Whether ID stands for something by its name or position. The class if it is made already, or NULL,
 * goes to *RET_CLASS. */
bool simpletrace_ids_known(const struct simpletrace_ids *ids, uint64_t id,
                           const struct event_class **ret_class);
