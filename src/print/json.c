/* SPDX-License-Identifier: MIT */
#include "print/json.h"

#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/number.h"
#include "base/printable.h"
#include "base/utf8.h"

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* 0: all eight bytes of V are plain. Otherwise the lowest bit that is set is of the first byte that is not; higher
 * bits may be of plain bytes. */
static inline uint64_t look_at(uint64_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = v ^ ones * '"';
    uint64_t backslash = v ^ ones * '\\';

    return ((v - ones * 0x20) | (v + ones) | (quote - ones) | (backslash - ones) | v) & ones << 7;
}

size_t json_plain_length(const char *s, size_t len)
{
    size_t i = 0;

    while (len - i >= 8 && !look_at(load_u64(s + i)))
        i += 8;
    while (i < len && is_plain((unsigned char)s[i]))
        i++;
    return i;
}

static void put_escape(struct text *text, unsigned char c)
{
    char *p = text_room(text, 8);

    *p++ = '\\';
    switch (c) {
    case '"': *p++ = '"'; break;
    case '\\': *p++ = '\\'; break;
    case '\n': *p++ = 'n'; break;
    case '\t': *p++ = 't'; break;
    case '\r': *p++ = 'r'; break;
    default:
        memcpy(p, "u00", 3);
        p = number_hex_byte(p + 3, c);
        break;
    }
    text->next = p;
}

/* The character at S that is not ASCII. Returns its bytes. */
static size_t put_character(struct text *text, const char *s, size_t left)
{
    uint32_t character;
    size_t n = utf8_decode(s, left, &character);

    if (n == 0)
        text_put_literal(text, "\xef\xbf\xbd");
    else if (printable_is_safe(character))
        text_put(text, s, n);
    else if (character < 0x10000)
        text_printf(text, "\\u%04x", (unsigned)character);
    else
        text_printf(text, "\\u%04x\\u%04x", 0xd800 + (unsigned)((character - 0x10000) >> 10),
                    0xdc00 + (unsigned)(character & 0x3ff));
    return n ? n : 1;
}

void json_put_string(struct text *text, const char *s, size_t len)
{
    size_t i = 0;

    text_put_char(text, '"');
    while (i < len) {
        size_t plain = json_plain_length(s + i, len - i);

        text_put(text, s + i, plain);
        i += plain;
        if (i == len)
            break;
        if ((unsigned char)s[i] < 0x80)
            put_escape(text, (unsigned char)s[i++]);
        else
            i += put_character(text, s + i, len - i);
    }
    text_put_char(text, '"');
}

void json_put_str(struct text *text, const char *s)
{
    json_put_string(text, s, strlen(s));
}

static void put_double(struct text *text, uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    if (isfinite(d))
        text_printf(text, "%.17g", d);
    else
        text_put_str(text, isnan(d) ? "\"NaN\"" : d < 0 ? "\"-Infinity\"" : "\"Infinity\"");
}

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
    case FIELD_STRING: json_put_string(text, value->s, value->len); break;
    case FIELD_BYTES: put_bytes(text, field, value); break;
    case FIELD_FLOAT: put_double(text, value->u); break;
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
