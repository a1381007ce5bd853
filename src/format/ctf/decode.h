/* SPDX-License-Identifier: MIT */
#pragma once

/* The bits of a packet, as the types of the metadata say. */

#include "format/ctf/type.h"

/* A place in a packet. */
struct ctf_cursor {
    const uint8_t *base; /* the byte at `origin` */
    uint64_t origin;     /* bits from the packet's begin, whole bytes */
    uint64_t position;   /* of the next bit, likewise from the packet's begin */
    uint64_t end;        /* what is there; not beyond the packet's content */
    uint64_t *slots;     /* values that others refer to; metadata->n_slots + 1 of them */
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
    void *arg;
};

/* Walks a struct that is at CURSOR or after padding, and moves CURSOR to its end. -EAGAIN: it continues
 * after the cursor's end; -EBADMSG: a variant whose tag chooses nothing; what the visitor returned. */
int ctf_walk(struct ctf_cursor *cursor, const struct ctf_type *type,
             const struct ctf_visitor *visitor);
