/* SPDX-License-Identifier: MIT */
#include "event/value.h"

#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"

static const struct value absent = {.s = ""};
static const struct value absent_number = {.u = 0};

/* Reads what most fields are. */
static inline void read_scalar(const struct field *field, const uint8_t *p, struct value *value)
{
    value->u = field_load(field, p);
    value->len = 0;
    value->present = true;
}

static struct value scalar(const struct field *field, const uint8_t *p)
{
    struct value v;

    read_scalar(field, p, &v);
    return v;
}

/* LEN bytes at AT, if the payload has them. */
static struct value run(const struct item *item, const struct field *field, uint64_t at,
                        uint64_t len)
{
    struct value v = {.present = true};

    if (at > item->size || len > item->size - at)
        return absent;
    v.s = (const char *)item->payload + at;
    v.len = (uint32_t)len;
    if (field->type == FIELD_STRING)
        v.len = (uint32_t)strnlen(v.s, (size_t)len);
    return v;
}

/* The bytes of FIELD, at AT: the field before it has the number of its elements. */
static struct value sized(const struct item *item, const struct field *field, uint64_t at)
{
    const struct field *count = field - 1;
    uint64_t n, room;
    struct value v;

    if (at > item->size || item->size < count->size || count->offset > item->size - count->size)
        return absent;
    v = scalar(count, item->payload + count->offset);
    n = count->type == FIELD_INT && v.i < 0 ? 0 : v.u;
    room = (item->size - at) / field->element;
    return run(item, field, at, MIN(n, room) * field->element);
}

/* The value of FIELD at AT, and where the next one begins. */
static struct value value_at(const struct item *item, const struct field *field, uint64_t at,
                             uint64_t *ret_behind)
{
    struct value v;
    uint64_t len;

    *ret_behind = UINT64_MAX;
    switch (field->storage) {
    case STORE_SCALAR:
        if (unlikely(at > item->size || field->size > item->size - at))
            return absent_number;
        *ret_behind = at + field->size;
        return scalar(field, item->payload + at);
    case STORE_COUNTED:
        if (at > item->size || item->size - at < 4)
            return absent;
        len = load_u32_swap(item->payload + at, field->swap);
        if (len > item->size - at - 4)
            return absent;
        *ret_behind = at + 4 + len;
        v = (struct value){.s = (const char *)item->payload + at + 4, .present = true};
        v.len = (uint32_t)len;
        return v;
    case STORE_ARRAY:
        if (at <= item->size)
            *ret_behind = at + field->size;
        return run(item, field, at, field->size);
    case STORE_NUL_ENDED:
        if (at > item->size)
            return absent;
        len = strnlen((const char *)item->payload + at, (size_t)(item->size - at));
        *ret_behind = at + len + 1;
        return run(item, field, at, len);
    case STORE_SIZED: return sized(item, field, at);
    case STORE_TO_END: break;
    }
    if (at > item->size)
        return absent;
    return run(item, field, at, item->size - at);
}

static struct value indirect(const struct item *item, const struct field *field)
{
    uint64_t at = field->offset;
    uint32_t word;

    if (at > item->size || item->size - at < 4)
        return absent;
    word = load_u32_swap(item->payload + at, field->swap);
    return run(item, field, (word & 0xffff) + (field->place == PLACE_REL_LOC ? at + 4 : 0),
               word >> 16);
}

void item_values(const struct item *item, struct value *values)
{
    const struct event_class *class = item->class;
    uint64_t behind = 0;

    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct field *field = &class->fields[i];

        /* The most common case. */
        if (likely(field->place == PLACE_FIXED && field->storage == STORE_SCALAR &&
                   item->size >= field->size && field->offset <= item->size - field->size)) {
            read_scalar(field, item->payload + field->offset, &values[i]);
            behind = (uint64_t)field->offset + field->size;
            continue;
        }
        if (field->place == PLACE_FIXED)
            values[i] = value_at(item, field, field->offset, &behind);
        else if (field->place == PLACE_AFTER_PREVIOUS)
            values[i] = value_at(item, field, behind, &behind);
        else
            values[i] = indirect(item, field);
    }
}

struct value item_value_any(const struct item *item, unsigned field)
{
    const struct field *fields = item->class->fields;
    unsigned first = field;
    uint64_t behind = 0;
    struct value v = absent;

    if (fields[field].place == PLACE_DATA_LOC || fields[field].place == PLACE_REL_LOC)
        return indirect(item, &fields[field]);
    while (first > 0 && fields[first].place == PLACE_AFTER_PREVIOUS)
        first--;
    for (unsigned i = first; i <= field; i++)
        v = value_at(item, &fields[i], fields[i].place == PLACE_FIXED ? fields[i].offset : behind,
                     &behind);
    return v;
}
