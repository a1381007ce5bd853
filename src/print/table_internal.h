/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the table printer share. */

#include "print/table.h"

static inline bool table_has_cell(const struct table *table, unsigned column)
{
    return table->cells[column].kind != TABLE_CELL_NONE;
}

/* Returns the string at *AT of a list, and moves *AT to the next one. NULL at the end. */
const char *table_next_string(const struct table *table, unsigned column, size_t *at);
/* Returns a cell on one line, with a NUL, valid until the next call. *RET_LEN is without the NUL. BETWEEN separates the
 * items of a list. */
const char *table_make_shown(struct table *table, unsigned column, const char *between,
                             size_t *ret_len);

/* ---- text ---- */

void table_begin_text(struct table *table);
/* Call before the first row, or at the end if there is none. */
void table_begin_text_rows(struct table *table);
void table_put_text_row(struct table *table);
void table_end_text(struct table *table);
