/* SPDX-License-Identifier: MIT */
#pragma once

/* Decodes the bits of a packet by the types of the metadata. */

#include "base/encoding.h"
#include "base/text.h"
#include "format/ctf/type.h"

/* The encoding of the characters of TYPE, a string, array or sequence. */
static inline enum encoding ctf_encoding_of(const struct ctf_type *type)
{
    return type->element ? type->element->encoding : type->encoding;
}

/* A place in a packet. */
struct ctf_cursor {
    const uint8_t *base;    /* the byte at `origin` */
    uint64_t origin;        /* bits from the packet's begin, a multiple of 8 */
    uint64_t position;      /* of the next bit, in bits from the packet's begin */
    uint64_t end;           /* end of the available bits; not beyond the packet's content */
    uint64_t *slots;        /* values to which others refer; metadata->n_slots + 1 entries */
    uint32_t n_empty;       /* array elements without bits, whose number has no other limit */
    unsigned variable_bits; /* bits of the last number in LEB128 */
    enum ctf_order order;   /* of the last number that did not consist of whole bytes */
};

/* Is called with the content of a struct, in its order. Each function returns 0, or an error that ends the walk. */
struct ctf_visitor {
    /* An integer or enum, sign-extended if it is signed; a float: the bits of a double. */
    int (*number)(void *arg, const struct ctf_member *member, uint64_t value);
    /* A string, an array or sequence of characters; without its NUL. */
    int (*text)(void *arg, const struct ctf_member *member, const char *text, uint64_t len);
    /* Another array or sequence of N numbers, which follow one by one. */
    int (*array)(void *arg, const struct ctf_member *member, uint64_t n);
    int (*element)(void *arg, const struct ctf_member *member, uint64_t value);
    /* The chosen member of a variant, which comes next. NULL: not called. */
    int (*choice)(void *arg, uint32_t number);
    /* An array or sequence of anything but numbers; with `whole_variants` also a variant. The function moves CURSOR to
     * its end, like ctf_walk_json() and ctf_pass(). */
    int (*whole)(void *arg, struct ctf_cursor *cursor, const struct ctf_member *member);
    void *arg;
    bool whole_variants;
};

/* Walks a struct at CURSOR, after padding if any, and moves CURSOR to its end. -EAGAIN: it continues after the cursor's
 * end; -EBADMSG: the tag of a variant chooses no member, or too many empty elements; or the error of the visitor. */
int ctf_walk(struct ctf_cursor *cursor, const struct ctf_type *type,
             const struct ctf_visitor *visitor);

/* True if an array of ELEMENTs is walked as numbers or text. */
static inline bool ctf_is_plain_element(const struct ctf_type *element)
{
    return element->kind == CTF_INTEGER || element->kind == CTF_ENUM;
}

/* True if an array of ELEMENTs is text. */
static inline bool ctf_is_text_element(const struct ctf_type *element)
{
    return element->text && element->size == 8 && element->align == 8;
}

/* Skips MEMBER. Returns as ctf_walk(). */
int ctf_pass(struct ctf_cursor *cursor, const struct ctf_member *member);

/* Writes MEMBER as JSON (json.c): structs as objects, arrays as lists, enums and floats as numbers. Returns as
 * ctf_walk(); -E2BIG: longer than CTF_JSON_MAX; -ENOMEM. */
#define CTF_JSON_MAX ((size_t)4 << 20)
int ctf_walk_json(struct ctf_cursor *cursor, const struct ctf_member *member, struct text *text);

/* For json.c. Each function moves the cursor after what it has read. -EAGAIN: incomplete. */
int ctf_align(struct ctf_cursor *cursor, uint32_t bits);
/* An integer or enum, sign-extended if it is signed; a float: the bits of a double. */
int ctf_read_number(struct ctf_cursor *cursor, const struct ctf_member *member, uint64_t *ret);
/* Read text as stored: a string, or N bytes of the characters of an array. */
int ctf_read_string(struct ctf_cursor *cursor, const struct ctf_type *type, const char **ret,
                    uint64_t *ret_len);
void ctf_read_characters(struct ctf_cursor *cursor, const struct ctf_type *type, uint64_t n,
                         const char **ret, uint64_t *ret_len);
/* Begins an array or sequence. *RET_N: number of elements that follow. */
int ctf_begin_array(struct ctf_cursor *cursor, const struct ctf_type *type, uint64_t *ret_n);
/* Call it after an element that began at BEFORE. -EBADMSG: too many elements of an event are empty. */
int ctf_end_element(struct ctf_cursor *cursor, uint64_t before);
/* The number of the chosen member of a variant. -EBADMSG. */
int ctf_choose(const struct ctf_cursor *cursor, const struct ctf_type *type, uint32_t *ret);
