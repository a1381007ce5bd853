/* SPDX-License-Identifier: MIT */
#pragma once

/* How records of a class are taken apart and shown: worked out once a class, when its first record is
 * written out, with copies of all that it needs, so that the library with the event may go. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/format.h"

#define RECORD_HEADER 8 /* bytes in front of a record's arguments */

struct layout_field {
    uint8_t kind; /* enum strata_field_kind */
    uint8_t size; /* 0: a string */
};

struct layout_step;

struct record_layout {
    uint32_t id;
    const char *name;
    size_t name_len;
    unsigned n_fields;
    bool has_strings;
    bool all_words; /* every field is 8 bytes, so that the arguments are simpletrace's already */
    size_t size;    /* of the arguments; of those without strings only, where there are some */
    const struct layout_field *fields;
    const struct layout_step *steps; /* the text behind the name, by the format */
    unsigned n_steps;
};

/* The plan of a class, the same at each call, NULL: no such class, or no memory. Only by the one who
 * writes out (the pass lock). */
const struct record_layout *layout_of(uint32_t class_id);

/* How many bytes the arguments at P, of which there are at most LEFT, take; SIZE_MAX: not so many are
 * there. */
size_t layout_size(const struct record_layout *layout, const uint8_t *p, size_t left);

/* A field of SIZE bytes as 64 bits, sign-extended where it has a sign. */
uint64_t layout_load(const struct layout_field *field, const uint8_t *p);

/* NAME and, when there is a format, a blank and the arguments shown by it, as strata_log() has it. */
void layout_put_text(const struct record_layout *layout, struct line *line,
                     const uint8_t *arguments);
