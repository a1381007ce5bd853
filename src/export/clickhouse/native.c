/* SPDX-License-Identifier: MIT */
#include "export/clickhouse/native.h"

#include <string.h>

#define VARINT_MAX 10

void native_put_varint(struct text *text, uint64_t v)
{
    char *p = text_room(text, VARINT_MAX);

    for (; v >= 0x80; v >>= 7)
        *p++ = (char)(v | 0x80);
    *p++ = (char)v;
    text->next = p;
}

void native_put_string(struct text *text, const char *s, size_t len)
{
    native_put_varint(text, len);
    text_put(text, s, len);
}

size_t native_block_size(const struct native_block *block)
{
    size_t size = 2 * VARINT_MAX;

    for (unsigned i = 0; i < block->n_columns; i++) {
        const struct native_column *column = &block->columns[i];

        size += strlen(column->name) + strlen(column->type) + 2 * VARINT_MAX +
                text_len(&column->nulls) + text_len(&column->offsets) + text_len(&column->values);
    }
    return size;
}

static int put_values(struct text *out, const struct text *values)
{
    text_put(out, values->start, text_len(values));
    return values->error;
}

int native_block_put(const struct native_block *block, struct text *out)
{
    int r = 0;

    native_put_varint(out, block->n_columns);
    native_put_varint(out, block->n_rows);
    for (unsigned i = 0; i < block->n_columns && r == 0; i++) {
        const struct native_column *column = &block->columns[i];

        native_put_string(out, column->name, strlen(column->name));
        native_put_string(out, column->type, strlen(column->type));
        r = put_values(out, &column->nulls);
        if (r == 0)
            r = put_values(out, &column->offsets);
        if (r == 0)
            r = put_values(out, &column->values);
    }
    return r < 0 ? r : out->error;
}

void native_block_clear(struct native_block *block)
{
    for (unsigned i = 0; i < block->n_columns; i++) {
        struct native_column *column = &block->columns[i];

        column->nulls.next = column->nulls.start;
        column->offsets.next = column->offsets.start;
        column->values.next = column->values.start;
        column->elements = 0;
    }
    block->n_rows = 0;
}

void native_block_done(struct native_block *block)
{
    for (unsigned i = 0; i < block->n_columns; i++) {
        text_done(&block->columns[i].nulls);
        text_done(&block->columns[i].offsets);
        text_done(&block->columns[i].values);
    }
}
