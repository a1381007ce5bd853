/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of events in one QEMU log: their declarations, classes and patterns, and classes for undeclared names. Only
 * for the reader. */

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/macro.h"
#include "base/map.h"
#include "event/catalogue.h"
#include "format/qemu_log/match.h"
#include "schema/trace_events/qemu_class.h"

#define LOG_NAMES_RECENT 256

/* A declaration. It is compiled when its name first occurs. */
struct candidate {
    const struct qemu_event *declared;
    const struct event_class *class;   /* NULL: not yet */
    const struct log_pattern *pattern; /* NULL: its format cannot be reversed */
    struct candidate *next;
};

struct log_name {
    const char *name;
    size_t len;
    struct candidate *candidates; /* in the order of the declarations; NULL: not declared */
    struct candidate *last;
    const struct event_class
        *message; /* class of its events whose values are unknown; NULL: not needed yet */
    bool compiled;
};

struct log_names {
    struct catalogue *catalogue;
    const struct origin *origin; /* set before anything is compiled */
    struct arena arena;
    struct map by_name;
    struct log_name *recent[LOG_NAMES_RECENT]; /* names of the last lines, by a hash */
    unsigned n_undeclared;
};

static inline unsigned log_names_slot(const char *name, size_t len)
{
    uint64_t head = 0;
    uint64_t tail;

    if (len >= 8) {
        head = load_u64(name);
        tail = load_u64(name + len - 8);
    } else {
        memcpy(&head, name, len);
        tail = 0;
    }
    return (unsigned)((((head ^ len) * 0x9e3779b97f4a7c15u) ^ tail) * 0xbf58476d1ce4e5b9u >> 56) &
           (LOG_NAMES_RECENT - 1);
}

/* Returns NULL if it is neither a name in the log nor a declared name. */
static inline struct log_name *log_names_find(struct log_names *names, const char *name, size_t len)
{
    struct log_name **slot = &names->recent[log_names_slot(name, len)];
    struct log_name *found = *slot;

    if (likely(found && found->len == len && memcmp(found->name, name, len) == 0))
        return found;
    found = map_get_str(&names->by_name, name, len);
    if (found)
        *slot = found;
    return found;
}

/* NAMES must be zero except `catalogue`. EVENTS (or NULL) must outlive NAMES. -ENOMEM. */
int log_names_declare(struct log_names *names, const struct qemu_events *events);
void log_names_done(struct log_names *names);

/* Adds an undeclared name. *RET_NAME is NULL once there are too many: they are other text that looks like events.
 * -ENOMEM. */
int log_names_add_undeclared(struct log_names *names, const char *name, size_t len,
                             struct log_name **ret_name);

/* Creates the classes and patterns of NAME's declarations. -ENOMEM. */
int log_names_compile(struct log_names *names, struct log_name *name);

/* Creates a class whose only field is the text of a line. -ENOMEM. */
int log_names_add_message_class(struct log_names *names, const char *name,
                                const struct event_class **ret_class);
