/* SPDX-License-Identifier: MIT */
#pragma once

/* Caches what a view makes once for each event class and copies for each event. */

#include "base/arena.h"
#include "base/text.h"
#include "event/class.h"

struct class_piece {
    /* Ends with a NUL, and TEXT_UNIT bytes after it are readable; NULL before it was made. */
    const char *text;
    size_t len;
    bool named;                      /* some fields of the class have names for their values: */
    uint16_t first_named, end_named; /* these fields, and possibly others, are in this range */
};

/* By class->index. */
struct class_table {
    struct arena arena;
    struct class_piece *pieces;
    unsigned n;
    /* Makes the piece. */
    void (*make)(const struct event_class *class, struct text *text);
};

void class_table_done(struct class_table *table);

/* NULL if out of memory. */
const struct class_piece *class_table_make(struct class_table *table,
                                           const struct event_class *class);

static inline const struct class_piece *class_table_get(struct class_table *table,
                                                        const struct event_class *class)
{
    if (likely(class->index < table->n && table->pieces[class->index].text))
        return &table->pieces[class->index];
    return class_table_make(table, class);
}
