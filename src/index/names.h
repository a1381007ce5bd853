/* SPDX-License-Identifier: MIT */
#pragma once

/* Names with numbers, while an index is built. In the file, and so in the answers, they are UTF-8 without what
 * printable_is_safe() refuses, and bounded in length and number. */

#include <stddef.h>
#include <stdint.h>

#define NAME_LEN_MAX 256            /* bytes of a name; what is longer is cut */
#define NAMES_MAX (1u << 20)        /* all others have the number of "(other names)" */
#define NAMES_BYTES_MAX (64u << 20) /* the same */

struct name_slot;

struct index_names {
    char *strings; /* "", then all texts, each ended by a NUL */
    size_t n_bytes, bytes_room;
    uint32_t *places; /* of the names, in `strings` */
    uint32_t n, room;
    struct name_slot *slots;
    size_t n_slots; /* a power of two */
    uint32_t other; /* number of "(other names)"; 0: it is not there */
};

/* 0, -ENOMEM. */
int index_names_init(struct index_names *names);
void index_names_done(struct index_names *names);
/* The number of a name of LEN bytes. 0, -ENOMEM. */
int index_names_put(struct index_names *names, const char *name, size_t len, uint32_t *ret_number);
/* A text without a number. *RET_PLACE: in `strings`. */
int index_names_put_text(struct index_names *names, const char *text, size_t len,
                         uint32_t *ret_place);
