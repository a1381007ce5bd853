/* SPDX-License-Identifier: MIT */
#pragma once

/* The bits of a packet, as the types of the metadata say. */

#include "base/encoding.h"
#include "base/text.h"
#include "format/ctf/type.h"

/* How the characters of TYPE, a string, array or sequence, are stored. */
static inline enum encoding ctf_encoding_of(const struct ctf_type *type)
{
    return type->element ? type->element->encoding : type->encoding;
}

/* A place in a packet. */
struct ctf_cursor {
    const uint8_t *base;    /* the byte at `origin` */
    uint64_t origin;        /* bits from the packet's begin, whole bytes */
    uint64_t position;      /* of the next bit, likewise from the packet's begin */
    uint64_t end;           /* what is there; not beyond the packet's content */
    uint64_t *slots;        /* values that others refer to; metadata->n_slots + 1 of them */
    uint32_t n_empty;       /* elements of arrays that took no bits, which nothing else bounds */
    unsigned variable_bits; /* that the last number in LEB128 had */
    enum ctf_order order;   /* of the last number that was not whole bytes in a row */
};

/* Is shown what a struct holds, in its order. Each function returns 0, or an error that ends the walk. */
struct ctf_visitor {
    /* An integer or enum, signed ones with their sign; a float, as the bits of a double. */
    int (*number)(void *arg, const struct ctf_member *member, uint64_t value);
    /* A string, an array or sequence of characters; without its NUL. */
    int (*text)(void *arg, const struct ctf_member *member, const char *text, uint64_t len);
    /* Another array or sequence of N numbers, which come one by one. */
    int (*array)(void *arg, const struct ctf_member *member, uint64_t n);
    int (*element)(void *arg, const struct ctf_member *member, uint64_t value);
    /* A variant is its member of this number, which comes next. NULL: not known. */
    int (*choice)(void *arg, uint32_t number);
    /* An array or sequence of anything but numbers; with `whole_variants` a variant. It moves CURSOR to the end of that,
     * as ctf_walk_json() and ctf_pass() do. */
    int (*whole)(void *arg, struct ctf_cursor *cursor, const struct ctf_member *member);
    void *arg;
    bool whole_variants;
};

/* Walks a struct that is at CURSOR or after padding, and moves CURSOR to its end. -EAGAIN: it continues
 * after the cursor's end; -EBADMSG: a variant whose tag chooses nothing, or too many empty elements; what the visitor
 * returned. */
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

/* Passes over MEMBER. As ctf_walk(). */
int ctf_pass(struct ctf_cursor *cursor, const struct ctf_member *member);

/* Puts MEMBER as JSON (json.c): structs as objects, arrays as lists, numbers of enums and floats as numbers. As
 * ctf_walk(); -E2BIG: longer than CTF_JSON_MAX; -ENOMEM. */
#define CTF_JSON_MAX ((size_t)4 << 20)
int ctf_walk_json(struct ctf_cursor *cursor, const struct ctf_member *member, struct text *text);

/* For json.c. Each moves the cursor after what it reads; -EAGAIN: it is not all there. */
int ctf_align(struct ctf_cursor *cursor, uint32_t bits);
/* An integer or enum, signed ones with their sign; a float, as the bits of a double. */
int ctf_read_number(struct ctf_cursor *cursor, const struct ctf_member *member, uint64_t *ret);
/* A text as it is stored: a string, or N bytes of the characters of an array. */
int ctf_read_string(struct ctf_cursor *cursor, const struct ctf_type *type, const char **ret,
                    uint64_t *ret_len);
void ctf_read_characters(struct ctf_cursor *cursor, const struct ctf_type *type, uint64_t n,
                         const char **ret, uint64_t *ret_len);
/* Begins an array or sequence: how many elements follow. */
int ctf_begin_array(struct ctf_cursor *cursor, const struct ctf_type *type, uint64_t *ret_n);
/* After an element that began at BEFORE. -EBADMSG: too many of the elements of an event are empty. */
int ctf_end_element(struct ctf_cursor *cursor, uint64_t before);
/* The number of the member that a variant is; -EBADMSG. */
int ctf_choose(const struct ctf_cursor *cursor, const struct ctf_type *type, uint32_t *ret);
