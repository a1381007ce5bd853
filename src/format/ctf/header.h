/* SPDX-License-Identifier: MIT */
#pragma once

/* Event headers in which each number has a fixed place: structs of integers, and structs that end with a variant, such
 * as LTTng's, whose tag is the event's number. They are read without walking their types. */

#include "base/bytes.h"
#include "base/macro.h"
#include "format/ctf/type.h"

/* The place of a number. */
struct ctf_place {
    uint32_t at;
    uint8_t size; /* bits; 0: no such number */
    bool big_endian;
};

struct ctf_header_form {
    uint32_t size; /* bits */
    struct ctf_place id;
    struct ctf_place time;
};

struct ctf_header {
    bool known;     /* the header has this form */
    uint32_t align; /* bits */
    uint32_t bytes; /* bytes that reading may access */
    struct ctf_form_choice {
        uint64_t low, high; /* values of the tag */
        struct ctf_header_form form;
    } forms[2];
    struct ctf_place tag; /* size 0: always the first form */
};

/* TYPE may be NULL: no header. */
void ctf_header_make(const struct ctf_type *type, struct ctf_header *ret);

/* P: where the header begins. */
static inline uint64_t ctf_place_read(const struct ctf_place *place, const uint8_t *p)
{
    uint64_t v = load_u64(p + place->at / 8);

    if (unlikely(place->size == 0))
        return 0;
    if (place->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
        v = __builtin_bswap64(v);
    if (place->big_endian)
        return v << place->at % 8 >> (64 - place->size);
    return v << (64 - place->size - place->at % 8) >> (64 - place->size);
}

/* The form of the header at P, or NULL if its tag has no known value. */
static inline const struct ctf_header_form *ctf_header_form(const struct ctf_header *header,
                                                            const uint8_t *p)
{
    uint64_t tag;

    if (header->tag.size == 0)
        return &header->forms[0].form;
    tag = ctf_place_read(&header->tag, p);
    for (unsigned i = 0; i < 2; i++)
        if (tag >= header->forms[i].low && tag <= header->forms[i].high)
            return &header->forms[i].form;
    return NULL;
}
