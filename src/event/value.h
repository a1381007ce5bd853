/* SPDX-License-Identifier: MIT */
#pragma once

/* The fields of an event as values. */

#include "base/bytes.h"
#include "base/macro.h"
#include "event/item.h"

struct value {
    union {
        uint64_t u; /* FIELD_UINT, BOOL, CHAR, POINTER: zero-extended; FIELD_INT: sign-extended */
        int64_t i;
        const char *s; /* FIELD_STRING, FIELD_BYTES: borrowed from the payload, no NUL */
    };
    uint32_t len; /* bytes at s */
    bool present; /* false: optional and absent, or the payload ends before it */
};

/* The largest number of fields of a class. Kernel events have up to about 60. */
#define FIELDS_MAX 128

/* Loads the scalar of FIELD's size (1, 2, 4 or 8 bytes) at P, in the form of struct value. */
static inline uint64_t field_load(const struct field *field, const uint8_t *p)
{
    uint64_t v = likely(field->size == 4 && !field->swap) ? load_u32(p)
                                                          : load_uint(p, field->size, field->swap);

    if (unlikely(field->bits)) {
        unsigned unused = 64u - field->bits;

        v = v >> field->shift << unused;
        return field->type == FIELD_INT ? (uint64_t)((int64_t)v >> unused) : v >> unused;
    }
    return field->type == FIELD_INT ? (uint64_t)sign_extend(v, field->size) : v;
}

/* Reads all fields of ITEM into VALUES, which has room for class->n_fields. Fields beyond the end of a
 * short payload are not present (0 or ""); nothing outside the payload is read. */
void item_values(const struct item *item, struct value *values);

/* item_value(), for any kind of field. */
struct value item_value_any(const struct item *item, unsigned field);

/* Reads one field; costs as much as all fields before it if their lengths vary. */
static inline struct value item_value(const struct item *item, unsigned number)
{
    const struct field *field = &item->class->fields[number];

    /* Most fields that are read one by one are such scalars. */
    if (likely(field->place == PLACE_FIXED && field->storage == STORE_SCALAR &&
               (field->size == 4 || field->size == 8) && field->bits == 0 && !field->swap &&
               item->size >= field->size && field->offset <= item->size - field->size)) {
        const uint8_t *p = item->payload + field->offset;
        uint64_t v = field->size == 8           ? load_u64(p)
                     : field->type == FIELD_INT ? (uint64_t)(int32_t)load_u32(p)
                                                : load_u32(p);

        return (struct value){.u = v, .present = true};
    }
    return item_value_any(item, number);
}
