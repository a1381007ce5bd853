/* SPDX-License-Identifier: MIT */
#include "format/ctf/decode.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"

static int align(struct ctf_cursor *c, uint32_t bits)
{
    c->position = (c->position + bits - 1) & ~((uint64_t)bits - 1);
    return c->position > c->end ? -EAGAIN : 0;
}

static const uint8_t *byte_at(const struct ctf_cursor *c, uint64_t position)
{
    return c->base + (position - c->origin) / 8;
}

/* SIZE bits that begin or end inside of bytes. Little-endian ones fill bytes from the lowest bit on,
 * big-endian ones from the highest. */
static uint64_t read_bits(const struct ctf_cursor *c, unsigned size, bool big_endian)
{
    uint64_t position = c->position;
    unsigned done = 0;
    uint64_t v = 0;

    while (done < size) {
        unsigned skip = (unsigned)(position & 7);
        unsigned some = MIN(8 - skip, size - done);
        unsigned byte = *byte_at(c, position);

        if (big_endian)
            v = v << some | (byte >> (8 - skip - some) & ((1U << some) - 1));
        else
            v |= (uint64_t)(byte >> skip & ((1U << some) - 1)) << done;
        done += some;
        position += some;
    }
    return v;
}

static int read_number(struct ctf_cursor *c, const struct ctf_type *type, uint64_t *ret)
{
    unsigned size = type->size;
    bool big_endian = type->order == CTF_ORDER_BE;
    bool swap = big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    bool whole = size >= 8 && (size & (size - 1)) == 0; /* 8, 16, 32, 64 */
    uint64_t v;

    if (align(c, type->align) < 0 || size > c->end - c->position)
        return -EAGAIN;
    if (likely(whole && (c->position & 7) == 0))
        v = load_uint(byte_at(c, c->position), size / 8, swap);
    else
        v = read_bits(c, size, big_endian);
    c->position += size;
    if (type->is_signed && size < 64)
        v = (uint64_t)((int64_t)(v << (64 - size)) >> (64 - size));
    *ret = v;
    return 0;
}

static uint64_t as_double(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    memcpy(&f, &low, sizeof f);
    d = (double)f;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static int walk_string(struct ctf_cursor *c, const struct ctf_member *member,
                       const struct ctf_visitor *visitor)
{
    const char *s;
    uint64_t left;
    uint64_t len;

    if (align(c, 8) < 0)
        return -EAGAIN;
    s = (const char *)byte_at(c, c->position);
    left = (c->end - c->position) / 8;
    len = strnlen(s, left);
    if (len == left)
        return -EAGAIN;
    c->position += 8 * (len + 1);
    return visitor->text(visitor->arg, member, s, len);
}

static int walk_array(struct ctf_cursor *c, const struct ctf_member *member,
                      const struct ctf_visitor *visitor)
{
    const struct ctf_type *type = member->type;
    const struct ctf_type *element = type->element;
    uint64_t n = type->kind == CTF_ARRAY ? type->length : c->slots[type->slot];
    int r;

    if (align(c, type->align) < 0 || n > (c->end - c->position) / element->size)
        return -EAGAIN;
    if (element->text && element->size == 8 && element->align == 8) {
        const char *s = (const char *)byte_at(c, c->position);

        c->position += 8 * n;
        return visitor->text(visitor->arg, member, s, strnlen(s, n));
    }
    r = visitor->array(visitor->arg, member, n);
    for (uint64_t i = 0; i < n && r >= 0; i++) {
        uint64_t value;

        r = read_number(c, element, &value);
        if (r >= 0)
            r = visitor->element(visitor->arg, member, value);
    }
    return r;
}

/* The member of a variant that the tag's value chooses. */
static const struct ctf_member *choose(const struct ctf_type *type, uint64_t value)
{
    const struct ctf_type *tag = type->tag;

    for (uint32_t i = 0; i < tag->n_ranges; i++) {
        const struct ctf_range *range = &tag->ranges[i];
        bool in = tag->is_signed ? (int64_t)value >= range->low && (int64_t)value <= range->high
                                 : value >= (uint64_t)range->low && value <= (uint64_t)range->high;

        for (uint32_t j = 0; in && j < type->n_members; j++)
            if (strcmp(type->members[j].name, range->label + (range->label[0] == '_')) == 0)
                return &type->members[j];
    }
    return NULL;
}

static int walk_member(struct ctf_cursor *c, const struct ctf_member *member,
                       const struct ctf_visitor *visitor)
{
    const struct ctf_type *type = member->type;
    uint64_t value;
    int r;

    switch (type->kind) {
    case CTF_INTEGER:
    case CTF_ENUM:
    case CTF_FLOAT:
        r = read_number(c, type, &value);
        if (r < 0)
            return r;
        c->slots[member->slot] = value;
        if (type->kind == CTF_FLOAT && type->size == 32)
            value = as_double(value);
        return visitor->number(visitor->arg, member, value);
    case CTF_STRING: return walk_string(c, member, visitor);
    case CTF_STRUCT: return ctf_walk(c, type, visitor);
    case CTF_VARIANT:
        member = choose(type, c->slots[type->slot]);
        return member ? walk_member(c, member, visitor) : -EBADMSG;
    case CTF_ARRAY:
    case CTF_SEQUENCE: break;
    }
    return walk_array(c, member, visitor);
}

int ctf_walk(struct ctf_cursor *cursor, const struct ctf_type *type,
             const struct ctf_visitor *visitor)
{
    int r = align(cursor, type->align);

    for (uint32_t i = 0; i < type->n_members && r >= 0; i++)
        r = walk_member(cursor, &type->members[i], visitor);
    return r;
}
