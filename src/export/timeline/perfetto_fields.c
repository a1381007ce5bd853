/* SPDX-License-Identifier: MIT */
#include "export/timeline/perfetto_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "base/utf8.h"
#include "event/class_map.h"
#include "event/program.h"
#include "export/timeline/perfetto_wire.h"
#include "tracks/slices.h"

/* A field that is a number, or the head of a longer field. */
#define FIELD_MAX (2 + PERFETTO_HEAD_MAX + 2 * VARINT_MAX)
/* Largest size of one byte of text or raw memory: a negative one-byte element is a message whose number takes ten
 * bytes. */
#define GROWTH 16

/* ---- classes ---- */

static unsigned value_tag(const struct field *field)
{
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_CHAR: return WIRE_TAG(ANNOTATION_UINT, WIRE_VARINT);
    case FIELD_INT: return WIRE_TAG(ANNOTATION_INT, WIRE_VARINT);
    case FIELD_BOOL: return WIRE_TAG(ANNOTATION_BOOL, WIRE_VARINT);
    case FIELD_POINTER: return WIRE_TAG(ANNOTATION_POINTER, WIRE_VARINT);
    case FIELD_FLOAT: return WIRE_TAG(ANNOTATION_DOUBLE, WIRE_FIXED64);
    case FIELD_BYTES:
        if (field_is_array(field))
            return WIRE_TAG(ANNOTATION_ARRAY, WIRE_BYTES);
        break;
    default: break;
    }
    return WIRE_TAG(ANNOTATION_STRING, WIRE_BYTES);
}

static bool is_scalar(const struct field *field)
{
    return field->type != FIELD_STRING && field->type != FIELD_BYTES;
}

/* Returns the number of the annotation for the names of a field's values. */
static unsigned called_number(struct perfetto_fields *fields, const char *field)
{
    struct text *named = &fields->named;

    named->next = named->start;
    text_put_literal(named, SLICE_OWN "name.");
    text_put_str(named, field);
    text_put_char(named, '\0');
    return named->error
               ? 0
               : perfetto_text_number(fields->strings, PERFETTO_ANNOTATION_NAMES, named->start);
}

_cold_ struct class_plan *perfetto_class_make(struct perfetto_fields *fields,
                                              const struct event_class *class)
{
    const char *category =
        class->group && *class->group ? class->group : layer_name(class->origin->layer);
    struct class_plan plan = {.scalars = true};

    if (class_map_grow(fields->classes, fields->n_classes, class) < 0)
        return NULL;
    plan.fields = arena_alloc(&fields->arena, (class->n_fields + 1) * sizeof *plan.fields);
    if (!plan.fields)
        return NULL;
    plan.name = perfetto_text_number(fields->strings, PERFETTO_EVENT_NAMES, class->name);
    plan.category = perfetto_text_number(fields->strings, PERFETTO_CATEGORIES, category);
    plan.name_value = perfetto_text_number(fields->strings, PERFETTO_STRINGS, class->name);
    for (unsigned i = 0; i < class->n_fields; i++) {
        struct field_plan *field = &plan.fields[i];
        unsigned number =
            perfetto_text_number(fields->strings, PERFETTO_ANNOTATION_NAMES, class->fields[i].name);
        char *p = wire_number((char *)field->head, ANNOTATION_NAME_IID, number);

        p = wire_varint(p, value_tag(&class->fields[i]));
        field->head_len = (uint8_t)(p - (char *)field->head);
        plan.scalars = plan.scalars && is_scalar(&class->fields[i]);
        if (class_may_name(class, i) && is_scalar(&class->fields[i])) {
            plan.named = true;
            field->called = called_number(fields, class->fields[i].name);
        }
    }
    fields->classes[class->index] = plan;
    return fields->strings->error ? NULL : &fields->classes[class->index];
}

/* ---- annotations ---- */

/* Puts an annotation whose value is the varint V after HEAD. */
static inline char *put_scalar(char *p, const struct field_plan *plan, uint64_t v)
{
    *p++ = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
    *p++ = (char)(plan->head_len + wire_varint_size(v));
    memcpy(p, plan->head, sizeof plan->head);
    return wire_varint(p + plan->head_len, v);
}

/* Puts the head of an annotation whose value has LEN bytes. */
static char *put_bytes_head(char *p, const struct field_plan *plan, size_t len)
{
    *p++ = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
    p = wire_varint(p, plan->head_len + wire_varint_size(len) + len);
    memcpy(p, plan->head, plan->head_len);
    return wire_varint(p + plan->head_len, len);
}

static inline bool is_ascii(const char *s, size_t len)
{
    uint64_t all = 0;

    for (; len >= 8; s += 8, len -= 8)
        all |= load_u64(s);
    for (; len > 0; s++, len--)
        all |= (uint8_t)*s;
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

static char *put_string(struct perfetto_strings *strings, char *p, const struct field_plan *plan,
                        const char *s, size_t len)
{
    if (unlikely(!is_ascii(s, len))) {
        strings->clean.next = strings->clean.start;
        utf8_put(&strings->clean, s, len);
        if (!strings->clean.error) {
            s = strings->clean.start;
            len = text_len(&strings->clean);
        } else {
            strings->error = strings->clean.error;
            len = 0;
        }
    }
    p = put_bytes_head(p, plan, len);
    memcpy(p, s, len);
    return p + len;
}

/* Puts plain bytes as hexadecimal digits. */
static char *put_hex(char *p, const struct field_plan *plan, const struct value *value)
{
    p = put_bytes_head(p, plan, 2 * (size_t)value->len);
    for (uint32_t i = 0; i < value->len; i++)
        p = number_hex_byte(p, (uint8_t)value->s[i]);
    return p;
}

/* Puts elements, each as a message with a number. The head, which names the array, comes first. */
static char *put_array(char *p, const struct field_plan *plan, const struct field *field,
                       const struct value *value)
{
    unsigned size = field->element;
    char *start;
    unsigned tag_len = wire_varint_size(WIRE_TAG(ANNOTATION_ARRAY, WIRE_BYTES));

    start = p = wire_open(p, EVENT_DEBUG_ANNOTATIONS);
    memcpy(p, plan->head, plan->head_len - tag_len);
    p += plan->head_len - tag_len;
    for (uint32_t at = 0; value->len - at >= size; at += size) {
        uint64_t v = load_uint(value->s + at, size, field->swap);

        if (field->element_signed)
            v = (uint64_t)sign_extend(v, size);
        p = wire_tag(p, ANNOTATION_ARRAY, WIRE_BYTES);
        *p++ = (char)(1 + wire_varint_size(v));
        p = wire_number(p, field->element_signed ? ANNOTATION_INT : ANNOTATION_UINT, v);
    }
    wire_close(start, p);
    return p;
}

static char *put_field(struct perfetto_strings *strings, char *p, const struct field_plan *plan,
                       const struct field *field, const struct value *value)
{
    switch (field->type) {
    case FIELD_STRING: return put_string(strings, p, plan, value->s, value->len);
    case FIELD_BYTES:
        return field_is_array(field) ? put_array(p, plan, field, value) : put_hex(p, plan, value);
    case FIELD_FLOAT:
        *p++ = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
        *p++ = (char)(plan->head_len + 8);
        memcpy(p, plan->head, plan->head_len);
        store_le64(p + plan->head_len, value->u);
        return p + plan->head_len + 8;
    case FIELD_BOOL: return put_scalar(p, plan, value->u != 0);
    default: return put_scalar(p, plan, value->u);
    }
}

void perfetto_fields_name(struct perfetto_fields *fields, const struct class_plan *plan,
                          const struct item *item, const struct value *values)
{
    struct text *named = &fields->named;
    struct text *name = &fields->strings->clean;

    named->next = named->start;
    for (unsigned i = 0; i < item->class->n_fields; i++) {
        size_t len;
        char *p;

        if (!plan->fields[i].called)
            continue;
        name->next = name->start;
        if (!item_put_name(item, i, &values[i], name))
            continue;
        len = text_len(name);
        for (char *c = name->start; c < name->next; c++)
            if ((uint8_t)*c >= 0x80) /* from declarations: not worth more */
                *c = '?';
        p = text_room(named, 64);
        p = wire_varint(wire_tag(p, EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES),
                        2 + wire_varint_size(plan->fields[i].called) + wire_varint_size(len) + len);
        p = wire_number(p, ANNOTATION_NAME_IID, plan->fields[i].called);
        named->next = wire_varint(wire_tag(p, ANNOTATION_STRING, WIRE_BYTES), len);
        text_put(named, name->start, len);
    }
    if (named->error || name->error)
        fields->strings->error = -ENOMEM;
}

size_t perfetto_fields_size(const struct class_plan *plan, const struct event_class *class,
                            const struct value *values)
{
    size_t size = class->n_fields * (size_t)FIELD_MAX;

    if (!plan->scalars)
        for (unsigned i = 0; i < class->n_fields; i++)
            if (!is_scalar(&class->fields[i]))
                size += GROWTH * (size_t)values[i].len;
    return size;
}

_cold_ void perfetto_fields_leave_out_texts(const struct event_class *class, struct value *values)
{
    for (unsigned i = 0; i < class->n_fields; i++)
        if (!is_scalar(&class->fields[i]))
            values[i] = (struct value){.s = ""};
}

char *perfetto_fields_put(struct perfetto_fields *fields, char *p, const struct class_plan *plan,
                          const struct event_class *class, const struct value *values)
{
    for (unsigned i = 0; i < class->n_fields; i++)
        if (likely(values[i].present))
            p = put_field(fields->strings, p, &plan->fields[i], &class->fields[i], &values[i]);
    if (unlikely(plan->named)) {
        memcpy(p, fields->named.start, text_len(&fields->named));
        p += text_len(&fields->named);
    }
    return p;
}

void perfetto_fields_done(struct perfetto_fields *fields)
{
    text_done(&fields->named);
    arena_done(&fields->arena);
    free(fields->classes);
}
