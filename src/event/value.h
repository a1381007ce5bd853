/* SPDX-License-Identifier: MIT */
#pragma once

/* The fields of an event as values. */

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

/* The most fields of a class; kernel events have up to 60 or so. */
#define FIELDS_MAX 128

/* Reads all fields of ITEM into VALUES, which has room for class->n_fields. Fields beyond the end of a
 * short payload are not present (0 or ""); nothing outside the payload is read. */
void item_values(const struct item *item, struct value *values);

/* Reads one field; costs as much as all fields before it if their lengths vary. */
struct value item_value(const struct item *item, unsigned field);
