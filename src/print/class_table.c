/* SPDX-License-Identifier: MIT */
#include "print/class_table.h"

#include <string.h>

#include "event/class_map.h"
#include "event/program.h"

static void text_donep(struct text *text)
{
    text_done(text);
}

static void find_named(struct class_piece *piece, const struct event_class *class)
{
    piece->first_named = piece->end_named = 0;
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (!class_may_name(class, i))
            continue;
        if (piece->end_named == 0)
            piece->first_named = (uint16_t)i;
        piece->end_named = (uint16_t)(i + 1);
    }
    piece->named = piece->end_named > 0;
}

const struct class_piece *class_table_make(struct class_table *table,
                                           const struct event_class *class)
{
    _cleanup_(text_donep) struct text text = TEXT_IN_MEMORY;
    struct class_piece *piece;
    char *copy;

    if (class_map_grow(table->pieces, table->n, class) < 0)
        return NULL;

    piece = &table->pieces[class->index];
    table->make(class, &text);
    if (text.error)
        return NULL;
    piece->len = text_len(&text);
    copy = arena_alloc(&table->arena, piece->len + TEXT_UNIT);
    if (!copy)
        return NULL;
    if (piece->len)
        memcpy(copy, text.start, piece->len);
    piece->text = copy;
    find_named(piece, class);
    return piece;
}

void class_table_done(struct class_table *table)
{
    arena_done(&table->arena);
    free(table->pieces);
    table->pieces = NULL;
    table->n = 0;
}
