/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers names while an index is built. In the file and in answers they are UTF-8, contain only what
 * printable_is_safe() accepts, and are limited in length and number. */

#include <stddef.h>
#include <stdint.h>

#define NAME_LEN_MAX 256            /* longer names are cut */
#define NAMES_MAX (1u << 20)        /* all further names have the number of "(other names)" */
#define NAMES_BYTES_MAX (64u << 20) /* likewise */

struct name_slot;

struct index_names {
    char *strings; /* "", then all texts, each with a NUL */
    size_t n_bytes, bytes_room;
    uint32_t *places; /* of the names, in `strings` */
    uint32_t n, room;
    struct name_slot *slots;
    size_t n_slots; /* a power of two */
    uint32_t other; /* number of "(other names)", or 0 if there is none */
};

/* 0, -ENOMEM. */
int index_names_init(struct index_names *names);
void index_names_done(struct index_names *names);
/* Gets the number of a name of LEN bytes. 0, -ENOMEM. */
int index_names_put(struct index_names *names, const char *name, size_t len, uint32_t *ret_number);
/* Adds a text without a number. *RET_PLACE: its place in `strings`. */
int index_names_put_text(struct index_names *names, const char *text, size_t len,
                         uint32_t *ret_place);
