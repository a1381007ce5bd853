/* SPDX-License-Identifier: MIT */
#include "print/json.h"

#include "base/bytes.h"
#include "base/number.h"

static void put_bytes(struct text *text, const struct field *field, const struct value *value)
{
    unsigned size = field->element;

    if (size > 0) {
        text_put_char(text, '[');
        for (uint32_t at = 0; value->len - at >= size; at += size) {
            uint64_t v = load_uint(value->s + at, size, field->swap);

            if (at)
                text_put_char(text, ',');
            if (field->element_signed)
                text_put_i64(text, sign_extend(v, size));
            else
                text_put_u64(text, v);
        }
        text_put_char(text, ']');
        return;
    }
    text_put_char(text, '"');
    for (uint32_t at = 0; at < value->len; at++) {
        char *p = text_room(text, 2);
        text->next = number_hex_byte(p, (uint8_t)value->s[at]);
    }
    text_put_char(text, '"');
}

void json_put_value(struct text *text, const struct field *field, const struct value *value)
{
    if (!value->present) {
        text_put_literal(text, "null");
        return;
    }
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_CHAR:
    case FIELD_POINTER: text_put_u64(text, value->u); break;
    case FIELD_INT: text_put_i64(text, value->i); break;
    case FIELD_BOOL:
        if (value->u)
            text_put_literal(text, "true");
        else
            text_put_literal(text, "false");
        break;
    case FIELD_STRING:
        if (unlikely(field->json))
            text_put(text, value->s, value->len);
        else
            json_put_string(text, value->s, value->len);
        break;
    case FIELD_BYTES: put_bytes(text, field, value); break;
    case FIELD_FLOAT: json_put_double(text, value->u); break;
    }
}

void json_put_fields(struct text *text, const struct item *item)
{
    const struct event_class *class = item->class;
    struct value values[FIELDS_MAX];

    text_put_char(text, '{');
    item_values(item, values);
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (i)
            text_put_char(text, ',');
        json_put_str(text, class->fields[i].name);
        text_put_char(text, ':');
        json_put_value(text, &class->fields[i], &values[i]);
    }
    text_put_char(text, '}');
}

void json_piece_put(struct text *text, struct text *piece)
{
    uint32_t len = (uint32_t)text_len(piece);

    text_put(text, (const char *)&len, sizeof len);
    text_put(text, piece->start, len);
    if (piece->error)
        text->error = piece->error;
    piece->next = piece->start;
}

void json_pieces_end(struct text *text)
{
    static const char padding[TEXT_UNIT];

    text_put(text, padding, sizeof padding);
}

void json_fields_make(const struct event_class *class, struct text *text)
{
    struct text piece = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < class->n_fields; i++) {
        if (i)
            text_put_char(&piece, ',');
        json_put_str(&piece, class->fields[i].name);
        text_put_char(&piece, ':');
        json_piece_put(text, &piece);
    }
    text_done(&piece);
}

void json_fields_put(struct text *text, const struct event_class *class, const struct value *values,
                     const char *pieces)
{
    for (unsigned i = 0; i < class->n_fields; i++) {
        json_piece_copy(text, pieces);
        json_put_value(text, &class->fields[i], &values[i]);
        pieces = json_piece_next(pieces);
    }
}
