/* SPDX-License-Identifier: MIT */
#pragma once

/* What a view makes once per event class and then copies for each event. */

#include "base/arena.h"
#include "base/text.h"
#include "event/class.h"

struct class_piece {
    const char
        *text; /* ends with a NUL, and TEXT_UNIT bytes after it are readable; NULL: not made yet */
    size_t len;
    bool named;                      /* the class has fields whose values have names: */
    uint16_t first_named, end_named; /* these, and others between them */
};

/* By class->index. */
struct class_table {
    struct arena arena;
    struct class_piece *pieces;
    unsigned n;
    /* Writes the piece. */
    void (*make)(const struct event_class *class, struct text *text);
};

void class_table_done(struct class_table *table);

/* NULL when memory is out. */
const struct class_piece *class_table_make(struct class_table *table,
                                           const struct event_class *class);

static inline const struct class_piece *class_table_get(struct class_table *table,
                                                        const struct event_class *class)
{
    if (likely(class->index < table->n && table->pieces[class->index].text))
        return &table->pieces[class->index];
    return class_table_make(table, class);
}
