/* SPDX-License-Identifier: MIT */
#pragma once

/* The events of a trace.dat that is being written: each class's number, how its records are made, and the format files.
 * Not thread-safe. */

#include "base/map.h"
#include "export/trace_dat/kernel_layout.h"
#include "tables/names.h"

/* An event of the file. */
struct dat_event {
    struct dat_event *next; /* in the order of their first events */
    uint16_t id;
    const char *system; /* "ftrace" for the kernel's built-in events */
    const char *format; /* the format file */
    size_t format_len;
    struct kernel_layout layout; /* if no kernel recorded it */
};

/* How events of a class become records. */
struct dat_class {
    struct dat_event *event; /* NULL before the first event */
    bool raw;                /* the payload is the record … */
    bool renumbered;         /* … except its number, at `type_offset` */
    uint16_t type_offset;
};

struct dat_events {
    bool swap, big_endian; /* the file's byte order, compared with this machine's */
    uint8_t long_size;
    struct arena arena;
    struct dat_class *classes; /* by class->index */
    unsigned n_classes;
    struct dat_event *first, *last;
    struct map by_id;
    struct map made; /* by name: events that no kernel recorded; several classes may share one */
    struct class_names names;
    uint16_t next_id; /* for the next event without a number of its own; counts down */
};

/* Uses the byte order of KERNEL's traces (event/kernel.h), or, if it is NULL, this machine's. */
void dat_events_init(struct dat_events *events, const struct origin_kernel *kernel);
void dat_events_done(struct dat_events *events);

/* -ENOMEM, also if there are 32,767 events already; another errno if the class's format cannot be read. */
int dat_events_make(struct dat_events *events, const struct event_class *class,
                    const struct dat_class **ret_class);

static inline int dat_events_get(struct dat_events *events, const struct event_class *class,
                                 const struct dat_class **ret_class)
{
    if (unlikely(class->index >= events->n_classes || !events->classes[class->index].event))
        return dat_events_make(events, class, ret_class);
    *ret_class = &events->classes[class->index];
    return 0;
}

/* Puts the parts of a trace.dat with format files: the kernel's own, and those by system. */
void dat_events_put_formats(const struct dat_events *events, struct text *text);
