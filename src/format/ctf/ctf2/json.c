/* SPDX-License-Identifier: MIT */
/* Converts values for which the event model has no fields to JSON: arrays of structs, arrays, text and floats, and
 * variants with too many combinations for a class each. */
#include <errno.h>

#include "base/json_string.h"
#include "base/number.h"
#include "format/ctf/decode.h"

static int put_member(struct ctf_cursor *c, const struct ctf_member *member, struct text *text);

static int put_number(struct ctf_cursor *c, const struct ctf_member *member, struct text *text)
{
    const struct ctf_type *type = member->type;
    uint64_t value;
    int r = ctf_read_number(c, member, &value);

    if (r < 0)
        return r;
    if (type->kind == CTF_FLOAT)
        json_put_double(text, value);
    else if (type->is_bool)
        text_put_str(text, value ? "true" : "false");
    else if (type->is_signed)
        text_put_i64(text, (int64_t)value);
    else
        text_put_u64(text, value);
    return 0;
}

static int put_struct(struct ctf_cursor *c, const struct ctf_type *type, struct text *text)
{
    char mark = '{';
    int r = ctf_align(c, type->align);

    for (uint32_t i = 0; i < type->n_members && r >= 0; i++) {
        const struct ctf_member *member = &type->members[i];

        if (member->length) {
            r = ctf_pass(c, member);
            continue;
        }
        text_put_char(text, mark);
        mark = ',';
        json_put_str(text, member->name);
        text_put_char(text, ':');
        r = put_member(c, member, text);
    }
    if (mark == '{')
        text_put_char(text, '{');
    text_put_char(text, '}');
    return r;
}

static int put_text(enum encoding encoding, const char *s, size_t len, struct text *text)
{
    struct text converted = TEXT_IN_MEMORY;

    if (encoding == ENCODING_UTF_8) {
        json_put_string(text, s, len);
        return 0;
    }
    encoded_put(encoding, s, len, &converted);
    json_put_string(text, converted.start ? converted.start : "", text_len(&converted));
    text->error = converted.error ? converted.error : text->error;
    text_done(&converted);
    return 0;
}

/* In hexadecimal. */
static int put_blob(struct ctf_cursor *c, uint64_t n, struct text *text)
{
    const uint8_t *p = c->base + (c->position - c->origin) / 8;

    text_put_char(text, '"');
    for (uint64_t i = 0; i < n; i++)
        text->next = number_hex_byte(text_room(text, 2), p[i]);
    text_put_char(text, '"');
    c->position += 8 * n;
    return 0;
}

static int put_array(struct ctf_cursor *c, const struct ctf_type *type, struct text *text)
{
    const struct ctf_member element = {.name = "", .type = type->element};
    const char *s;
    uint64_t n;
    int r = ctf_begin_array(c, type, &n);

    if (r >= 0 && ctf_is_text_element(type->element)) {
        ctf_read_characters(c, type, n, &s, &n);
        return put_text(type->element->encoding, s, (size_t)n, text);
    }
    if (r >= 0 && type->is_blob)
        return put_blob(c, n, text);
    text_put_char(text, '[');
    for (uint64_t i = 0; r >= 0 && i < n; i++) {
        uint64_t before = c->position;

        if (i)
            text_put_char(text, ',');
        r = put_member(c, &element, text);
        if (r >= 0)
            r = ctf_end_element(c, before);
    }
    text_put_char(text, ']');
    return r;
}

static int put_member(struct ctf_cursor *c, const struct ctf_member *member, struct text *text)
{
    const struct ctf_type *type = member->type;
    uint32_t number = 0;
    const char *s;
    uint64_t len;
    int r;

    if (text_len(text) > CTF_JSON_MAX)
        return -E2BIG;
    switch (type->kind) {
    case CTF_INTEGER:
    case CTF_ENUM:
    case CTF_FLOAT: return put_number(c, member, text);
    case CTF_STRING:
        r = ctf_read_string(c, type, &s, &len);
        return r < 0 ? r : put_text(type->encoding, s, (size_t)len, text);
    case CTF_STRUCT: return put_struct(c, type, text);
    case CTF_VARIANT:
        r = ctf_choose(c, type, &number);
        if (r >= 0 && type->is_optional && number == 1) {
            text_put_literal(text, "null");
            return 0;
        }
        return r < 0 ? r : put_member(c, &type->members[number], text);
    case CTF_ARRAY:
    case CTF_SEQUENCE: break;
    }
    return put_array(c, type, text);
}

int ctf_walk_json(struct ctf_cursor *cursor, const struct ctf_member *member, struct text *text)
{
    int r = put_member(cursor, member, text);

    return r >= 0 && text->error ? -ENOMEM : r;
}
