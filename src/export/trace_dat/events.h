/* SPDX-License-Identifier: MIT */
#pragma once

/* The events of a trace.dat that is written: the number that each class has in it, how its records come
 * about, and the format files. Not thread-safe. */

#include "base/map.h"
#include "export/trace_dat/kernel_layout.h"
#include "tables/names.h"

/* One event of the file. */
struct dat_event {
    struct dat_event *next; /* in the order in which they came */
    uint16_t id;
    const char *system; /* "ftrace": the kernel's built-in ones */
    const char *format; /* the format file */
    size_t format_len;
    struct kernel_layout layout; /* of one that no kernel recorded */
};

/* How events of a class become records. */
struct dat_class {
    struct dat_event *event; /* NULL: not seen yet */
    bool raw;                /* the payload is the record … */
    bool renumbered;         /* … but for its number, at `type_offset` */
    uint16_t type_offset;
};

struct dat_events {
    bool swap, big_endian; /* of the file, against this machine */
    uint8_t long_size;
    struct arena arena;
    struct dat_class *classes; /* by class->index */
    unsigned n_classes;
    struct dat_event *first, *last;
    struct map by_id;
    struct map made; /* by name: events that no kernel recorded, which several classes may be */
    struct class_names names;
    uint16_t next_id; /* to be given to one that has none of its own; counts down */
};

/* In the byte order of a file whose traces are of KERNEL (event/kernel.h), or, if that is NULL, of this
 * machine. */
void dat_events_init(struct dat_events *events, const struct origin_kernel *kernel);
void dat_events_done(struct dat_events *events);

/* -ENOMEM, also if there are 32,767 events already; -EIO and the like if the class's format cannot be read. */
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

/* The parts of a trace.dat with the format files: those of the kernel itself, and those by system. */
void dat_events_put_formats(const struct dat_events *events, struct text *text);
