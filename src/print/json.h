/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes JSON (RFC 8259) piece by piece. */

#include "base/json_string.h"
#include "base/number.h"
#include "event/value.h"

/* Writes a value. Integers are JSON integers, exactly; booleans are true or false; bytes are a string of hexadecimal
 * digits; arrays of integers are arrays. Numbers that are not finite are "Infinity", "-Infinity" and "NaN". An absent
 * value is null. */
void json_put_value(struct text *text, const struct field *field, const struct value *value);

static inline char *json_put_bool(char *p, bool v)
{
    memcpy(p, v ? "true" : "false", 5);
    return p + (v ? 4 : 5);
}

/* Writes a value like json_put_value() at P, where NUMBER_MAX bytes must be free. Returns its end, or NULL if it is not
 * an integer or boolean. */
static inline char *json_put_integer(char *p, const struct field *field, const struct value *value)
{
    if (unlikely(!value->present))
        return NULL;
    if (likely(field->type == FIELD_UINT))
        return number_dec(p, value->u);
    switch (field->type) {
    case FIELD_CHAR:
    case FIELD_POINTER: return number_dec(p, value->u);
    case FIELD_INT: return number_sdec(p, value->i);
    case FIELD_BOOL: return json_put_bool(p, value->u);
    default: return NULL;
    }
}

/* All fields of an event as one object. */
void json_put_fields(struct text *text, const struct item *item);

/* Pieces are texts that are made once per class and then copied. Each is preceded by its length. */

/* Moves the text of PIECE to TEXT as a piece. */
void json_piece_put(struct text *text, struct text *piece);

static inline const char *json_piece_next(const char *piece)
{
    uint32_t len;

    memcpy(&len, piece, sizeof len);
    return piece + sizeof len + len;
}

static inline void json_piece_copy(struct text *text, const char *piece)
{
    uint32_t len;

    memcpy(&len, piece, sizeof len);
    text_put(text, piece + sizeof len, len);
}

/* Copies a piece to P, where its length and TEXT_UNIT more bytes must be free. Returns its end. PIECE must be in a list
 * that json_pieces_end() has ended. */
static inline char *json_piece_copy_units(char *p, const char *piece)
{
    uint32_t len;

    memcpy(&len, piece, sizeof len);
    return text_copy_units(p, piece + sizeof len, len);
}

/* Puts a piece after making room; for pieces that are mostly short. */
static inline void json_piece_put_units(struct text *text, const char *piece)
{
    uint32_t len;

    memcpy(&len, piece, sizeof len);
    if (likely(len <= TEXT_ROOM_MAX / 2))
        text->next = text_copy_units(text_room(text, len + TEXT_UNIT), piece + sizeof len, len);
    else
        text_put(text, piece + sizeof len, len);
}

void json_pieces_end(struct text *text);

/* Makes a piece for each field of CLASS: `"first":`, `,"second":`. */
void json_fields_make(const struct event_class *class, struct text *text);
/* Puts VALUES of the fields of CLASS by PIECES: `"first":1,"second":2`. */
void json_fields_put(struct text *text, const struct event_class *class, const struct value *values,
                     const char *pieces);
