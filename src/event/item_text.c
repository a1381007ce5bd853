/* SPDX-License-Identifier: MIT */
/* Puts events and values as text. */
#include <stdio.h>

#include "base/bytes.h"
#include "event/program.h"

static void put_element(const struct field *field, const char *p, unsigned size, bool first,
                        struct text *text)
{
    uint64_t v = load_uint(p, size, field->swap);

    if (!first)
        text_put_char(text, ' ');
    if (!field_has_decimal_elements(field)) {
        text_put_literal(text, "0x");
        text_put_hex(text, v);
    } else if (field->element_signed) {
        text_put_i64(text, sign_extend(v, size));
    } else {
        text_put_u64(text, v);
    }
}

static void put_bytes(const struct field *field, const struct value *value, struct text *text)
{
    unsigned element = field->element > 1 ? field->element : 1;
    uint32_t i = 0;

    text_put_char(text, '[');
    for (; value->len - i >= element && i < value->len; i += element)
        put_element(field, value->s + i, element, i == 0, text);
    for (; i < value->len; i++) /* an incomplete element at the end */
        put_element(field, value->s + i, 1, i == 0, text);
    text_put_char(text, ']');
}

static void put_double(uint64_t bits, struct text *text)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    text_put_double(text, d);
}

void value_put(const struct field *field, const struct value *value, struct text *text)
{
    switch (field->type) {
    case FIELD_STRING: text_put_safe(text, value->s, value->len); break;
    case FIELD_BYTES: put_bytes(field, value, text); break;
    case FIELD_FLOAT: put_double(value->u, text); break;
    case FIELD_BOOL: text_put_str(text, value->u ? "true" : "false"); break;
    case FIELD_POINTER:
        text_put_literal(text, "0x");
        text_put_hex(text, value->u);
        break;
    case FIELD_INT:
        if (!field->hex) {
            text_put_i64(text, value->i);
            break;
        }
        /* A negative number reads as the declared type's own width. */
        text_put_literal(text, "0x");
        text_put_hex(text,
                     value->u & (~UINT64_C(0) >>
                                 (64 - 8 * MIN(field->c_size ? field->c_size : field->size, 8u))));
        break;
    case FIELD_UINT:
    case FIELD_CHAR:
        if (field->hex) {
            text_put_literal(text, "0x");
            text_put_hex(text, value->u);
        } else {
            text_put_u64(text, value->u);
        }
        break;
    }
}

/* "present|write|0x40". */
static void put_bits(const struct value_names *names, uint64_t v, struct text *text)
{
    bool first = true;

    for (uint32_t i = 0; i < names->n; i++) {
        if (!(v >> i & 1) || !names->names[i])
            continue;
        if (!first)
            text_put_char(text, '|');
        first = false;
        text_put_safe_str(text, names->names[i]);
        for (uint32_t j = i; j < names->n; j++) /* several bits may have one name */
            if (names->names[j] == names->names[i])
                v &= ~(UINT64_C(1) << j);
    }
    if (v == 0 && !first)
        return;
    if (!first)
        text_put_char(text, '|');
    if (v)
        text_put_literal(text, "0x");
    text_put_hex(text, v);
}

static inline bool put_named(const struct value_names *names, uint64_t v, struct text *text)
{
    const char *name;

    if (unlikely(names->bits)) {
        put_bits(names, v, text);
        return true;
    }
    name = value_name(names, v);
    if (name)
        text_put_safe_str(text, name);
    return name;
}

/* Whether V, or a bit of it, has a name. */
static bool has_name(const struct value_names *names, uint64_t v)
{
    if (!names->bits)
        return value_name(names, v) != NULL;
    for (uint32_t i = 0; i < names->n; i++)
        if (v >> i & 1 && names->names[i])
            return true;
    return false;
}

bool item_put_name(const struct item *item, unsigned field, const struct value *value,
                   struct text *text)
{
    const struct event_class *class = item->class;
    const struct value_names *names = class->fields[field].names;

    if (!value->present)
        return false;
    if (class->put_name)
        return class->put_name(item, field, text);
    return names && has_name(names, value->u) && put_named(names, value->u, text);
}

bool value_put_named(const struct value_names *names, uint64_t v, struct text *text)
{
    return put_named(names, v, text);
}

static void put_values(const struct event_class *class, const struct value *values,
                       struct text *text)
{
    bool first = true;

    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct field *field = &class->fields[i];

        if (!values[i].present && field->optional)
            continue;
        if (!first)
            text_put_char(text, ' ');
        first = false;
        text_put_safe_str(text, field->name);
        text_put_char(text, '=');
        if (!values[i].present) {
            text_put_char(text, '?');
        } else if (field->type == FIELD_STRING && !field->json) {
            text_put_char(text, '"');
            value_put(field, &values[i], text);
            text_put_char(text, '"');
        } else if (!field->names || !put_named(field->names, values[i].u, text)) {
            value_put(field, &values[i], text);
        }
    }
}

void item_put_fields(const struct item *item, struct text *text)
{
    struct value values[FIELDS_MAX];

    if (likely(item->class->fields_program) && program_run(item->class->fields_program, item, text))
        return;
    item_values(item, values);
    put_values(item->class, values, text);
}

void item_put_text(const struct item *item, struct text *text)
{
    const struct event_class *class = item->class;

    if (class->put_text)
        class->put_text(item, text);
    else if (class->program)
        program_run(class->program, item, text);
    else
        item_put_fields(item, text);
}

void origin_put_thread(const struct origin *origin, const char *name, int32_t pid,
                       struct text *text)
{
    const char *vm = origin->vms_are_named && pid > 0 ? origin->vm_name(origin, pid) : NULL;

    if (vm) {
        text_put_str(text, vm);
        text_put_literal(text, "'s ");
    }
    text_put_str(text, name);
    text_put_char(text, '-');
    text_put_i64(text, pid);
}
