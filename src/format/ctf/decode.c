/* SPDX-License-Identifier: MIT */
#include "format/ctf/decode.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"

/* How many elements of the arrays of one event may take no bits: nothing else bounds them. */
#define EMPTY_MAX 1024

static inline int align(struct ctf_cursor *c, uint32_t bits)
{
    c->position = (c->position + bits - 1) & ~((uint64_t)bits - 1);
    return c->position > c->end ? -EAGAIN : 0;
}

int ctf_align(struct ctf_cursor *c, uint32_t bits)
{
    return align(c, bits);
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

/* LEB128: 7 bits a byte, the lowest first; all but the last have the highest bit set. */
static int read_variable(struct ctf_cursor *c, bool is_signed, uint64_t *ret)
{
    uint64_t v = 0;
    unsigned bits = 0;
    uint8_t byte;

    do {
        if (c->end - c->position < 8)
            return -EAGAIN;
        byte = *byte_at(c, c->position);
        c->position += 8;
        if (bits < 64)
            v |= (uint64_t)(byte & 0x7f) << bits;
        if (bits > 57) {
            /* What does not fit are copies of the sign, or zeros. */
            unsigned over = MIN(bits - 57, 7U);
            unsigned all = (1U << over) - 1;

            if ((byte & 0x7fU) >> (7 - over) != (is_signed && v >> 63 ? all : 0))
                return -EBADMSG;
        }
        bits += 7;
    } while (byte & 0x80);
    if (is_signed && bits < 64)
        v = (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
    c->variable_bits = bits;
    *ret = v;
    return 0;
}

/* A number that is not whole bytes in a row. */
static __attribute__((noinline)) int read_odd(struct ctf_cursor *c, const struct ctf_type *type,
                                              uint64_t *ret)
{
    uint64_t v;

    if (type->is_variable)
        return read_variable(c, type->is_signed, ret);
    if (type->size > c->end - c->position)
        return -EAGAIN;
    /* Numbers in one byte have one order. */
    if (c->position & 7 && c->order != CTF_ORDER_NATIVE && c->order != type->order)
        return -EBADMSG;
    c->order = type->order;
    v = read_bits(c, type->size, type->order == CTF_ORDER_BE);
    if (type->backwards) {
        uint64_t turned = 0;

        for (unsigned i = 0; i < type->size; i++)
            turned |= (v >> i & 1) << (type->size - 1 - i);
        v = turned;
    }
    c->position += type->size;
    *ret = v;
    return 0;
}

static inline __attribute__((always_inline)) int
read_number(struct ctf_cursor *c, const struct ctf_type *type, uint64_t *ret)
{
    unsigned size = type->size;
    bool big_endian = type->order == CTF_ORDER_BE;
    bool swap = big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    uint64_t v = 0;
    int r;

    if (align(c, type->align) < 0)
        return -EAGAIN;
    if (likely(type->whole && (c->position & 7) == 0)) {
        if (size > c->end - c->position)
            return -EAGAIN;
        v = load_uint(byte_at(c, c->position), size / 8, swap);
        c->position += size;
    } else {
        r = read_odd(c, type, &v);
        if (r < 0)
            return r;
    }
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

static inline int read_member(struct ctf_cursor *c, const struct ctf_member *member, uint64_t *ret)
{
    const struct ctf_type *type = member->type;
    uint64_t value;
    int r = read_number(c, type, &value);

    if (r < 0)
        return r;
    c->slots[member->slot] = value;
    if (type->kind == CTF_FLOAT && type->size == 32)
        value = as_double(value);
    *ret = value;
    return 0;
}

int ctf_read_number(struct ctf_cursor *c, const struct ctf_member *member, uint64_t *ret)
{
    return read_member(c, member, ret);
}

static inline int read_string(struct ctf_cursor *c, const struct ctf_type *type, const char **ret,
                              uint64_t *ret_len)
{
    const char *s;
    size_t left, len;
    unsigned unit = encoding_unit(type->encoding);

    if (align(c, 8) < 0)
        return -EAGAIN;
    s = (const char *)byte_at(c, c->position);
    left = (size_t)((c->end - c->position) / 8);
    len = likely(unit == 1) ? strnlen(s, left) : encoded_length(type->encoding, s, left);
    if (left - len < unit)
        return -EAGAIN;
    c->position += 8 * ((uint64_t)len + unit);
    *ret = s;
    *ret_len = len;
    return 0;
}

int ctf_read_string(struct ctf_cursor *c, const struct ctf_type *type, const char **ret,
                    uint64_t *ret_len)
{
    return read_string(c, type, ret, ret_len);
}

int ctf_begin_array(struct ctf_cursor *c, const struct ctf_type *type, uint64_t *ret_n)
{
    const struct ctf_type *element = type->element;
    uint64_t n = type->kind == CTF_ARRAY ? type->length : c->slots[type->slot];
    bool is_empty = element->kind == CTF_STRUCT && element->n_members == 0;
    uint32_t least = !ctf_is_plain_element(element) ? 1 : element->is_variable ? 8 : element->size;

    if (align(c, type->align) < 0 || (!is_empty && n > (c->end - c->position) / least))
        return -EAGAIN;
    *ret_n = n;
    return 0;
}

void ctf_read_characters(struct ctf_cursor *c, const struct ctf_type *type, uint64_t n,
                         const char **ret, uint64_t *ret_len)
{
    *ret = (const char *)byte_at(c, c->position);
    *ret_len = encoded_length(type->element->encoding, *ret, (size_t)n);
    c->position += 8 * n;
}

int ctf_end_element(struct ctf_cursor *c, uint64_t before)
{
    return c->position == before && ++c->n_empty > EMPTY_MAX ? -EBADMSG : 0;
}

int ctf_choose(const struct ctf_cursor *c, const struct ctf_type *type, uint32_t *ret)
{
    uint64_t value = c->slots[type->slot];

    for (uint32_t i = 0; i < type->n_choices; i++) {
        const struct ctf_choice *choice = &type->choices[i];

        if (type->tag->is_signed
                ? (int64_t)value >= choice->low && (int64_t)value <= choice->high
                : value >= (uint64_t)choice->low && value <= (uint64_t)choice->high) {
            *ret = choice->member;
            return 0;
        }
    }
    *ret = 1;
    return type->is_optional ? 0 : -EBADMSG;
}

static int walk_string(struct ctf_cursor *c, const struct ctf_member *member,
                       const struct ctf_visitor *visitor)
{
    const char *s;
    uint64_t len;
    int r = read_string(c, member->type, &s, &len);

    return r < 0 ? r : visitor->text(visitor->arg, member, s, len);
}

static int walk_array(struct ctf_cursor *c, const struct ctf_member *member,
                      const struct ctf_visitor *visitor)
{
    const struct ctf_type *type = member->type;
    const struct ctf_type *element = type->element;
    const char *s;
    uint64_t n;
    int r;

    if (!ctf_is_plain_element(element))
        return visitor->whole(visitor->arg, c, member);
    r = ctf_begin_array(c, type, &n);
    if (r < 0)
        return r;
    if (ctf_is_text_element(element)) {
        ctf_read_characters(c, type, n, &s, &n);
        return visitor->text(visitor->arg, member, s, n);
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

static int walk_member(struct ctf_cursor *c, const struct ctf_member *member,
                       const struct ctf_visitor *visitor);

static int walk_variant(struct ctf_cursor *c, const struct ctf_member *member,
                        const struct ctf_visitor *visitor)
{
    uint32_t number = 0;
    int r;

    if (visitor->whole_variants)
        return visitor->whole(visitor->arg, c, member);
    r = ctf_choose(c, member->type, &number);
    if (r >= 0 && visitor->choice)
        r = visitor->choice(visitor->arg, number);
    return r < 0 ? r : walk_member(c, &member->type->members[number], visitor);
}

static int walk_member(struct ctf_cursor *c, const struct ctf_member *member,
                       const struct ctf_visitor *visitor)
{
    uint64_t value;
    int r;

    switch (member->type->kind) {
    case CTF_INTEGER:
    case CTF_ENUM:
    case CTF_FLOAT:
        r = read_member(c, member, &value);
        return r < 0 ? r : visitor->number(visitor->arg, member, value);
    case CTF_STRING: return walk_string(c, member, visitor);
    case CTF_STRUCT: return ctf_walk(c, member->type, visitor);
    case CTF_VARIANT: return walk_variant(c, member, visitor);
    case CTF_ARRAY:
    case CTF_SEQUENCE: break;
    }
    return walk_array(c, member, visitor);
}

static int ignore_number(void *arg, const struct ctf_member *member, uint64_t value)
{
    (void)arg, (void)member, (void)value;
    return 0;
}

static int ignore_text(void *arg, const struct ctf_member *member, const char *text, uint64_t len)
{
    (void)text;
    return ignore_number(arg, member, len);
}

static int pass_whole(void *arg, struct ctf_cursor *c, const struct ctf_member *member)
{
    (void)arg;
    return ctf_pass(c, member);
}

static const struct ctf_visitor ignore = {.number = ignore_number,
                                          .text = ignore_text,
                                          .array = ignore_number,
                                          .element = ignore_number,
                                          .whole = pass_whole};

int ctf_pass(struct ctf_cursor *c, const struct ctf_member *member)
{
    const struct ctf_member element = {.name = "", .type = member->type->element};
    uint64_t n;
    int r;

    if (!element.type || ctf_is_plain_element(element.type))
        return walk_member(c, member, &ignore);
    r = ctf_begin_array(c, member->type, &n);
    for (uint64_t i = 0; r >= 0 && i < n; i++) {
        uint64_t before = c->position;

        r = walk_member(c, &element, &ignore);
        if (r >= 0)
            r = ctf_end_element(c, before);
    }
    return r;
}

int ctf_walk(struct ctf_cursor *cursor, const struct ctf_type *type,
             const struct ctf_visitor *visitor)
{
    int r = align(cursor, type->align);

    for (uint32_t i = 0; i < type->n_members && r >= 0; i++)
        r = walk_member(cursor, &type->members[i], visitor);
    return r;
}
