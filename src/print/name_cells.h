/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes the names of an event's values as one JSON object, by field: `{"reason":"NPF"}`. Caches the last members, by
 * field and value. */

#include "base/text.h"
#include "event/value.h"
#include "print/class_table.h"

/* `"reason":"NPF"`, as in the output. */
#define NAME_CELL_MAX (7 * TEXT_UNIT)
struct name_cell {
    const struct field *field; /* NULL: empty */
    uint64_t value;
    uint32_t len;
    char text[NAME_CELL_MAX];
};

#define NAME_CELLS 256 /* a power of two */

struct name_cells {
    char begin[TEXT_UNIT]; /* written before the first member, including `{` */
    char end[TEXT_UNIT];   /* written after the last member, including `}` */
    uint32_t begin_len, end_len;
    /* Writes a member, which is JSON, to the output. */
    void (*put)(struct text *out, const char *s, size_t len);
    struct text name, member, made; /* in memory */
    struct name_cell cells[NAME_CELLS];
};

/* BEGIN and END have at most TEXT_UNIT bytes. */
void name_cells_init(struct name_cells *cells, const char *begin, const char *end,
                     void (*put)(struct text *out, const char *s, size_t len));
void name_cells_done(struct name_cells *cells);

/* Writes the names of VALUES of an event's fields, or nothing if none has a name. PIECE is of its class. */
void name_cells_put(struct name_cells *cells, struct text *out, const struct item *item,
                    const struct value *values, const struct class_piece *piece);
