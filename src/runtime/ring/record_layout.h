/* SPDX-License-Identifier: MIT */
#pragma once

/* How records of a class are parsed and printed: computed once per class, when its first record is
 * written out, with copies of everything that it needs, so that the event's library may be unloaded. */

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
    const struct layout_step *steps; /* the text after the name, by the format */
    unsigned n_steps;
};

/* The layout of a class, the same at each call; NULL: no such class, or out of memory. Under the pass
 * lock. */
const struct record_layout *layout_of(uint32_t class_id);

/* The size of the arguments at P, of which at most LEFT bytes exist; SIZE_MAX: they are longer. */
size_t layout_size(const struct record_layout *layout, const uint8_t *p, size_t left);

/* The same of a class whose plan has no memory, from its fields; SIZE_MAX: no such class, too. */
size_t layout_measure(uint32_t class_id, const uint8_t *p, size_t left);

/* A field of SIZE bytes as 64 bits, sign-extended where it has a sign. */
uint64_t layout_load(const struct layout_field *field, const uint8_t *p);

/* NAME and, when there is a format, a blank and the arguments shown by it, as strata_log() has it. */
void layout_put_text(const struct record_layout *layout, struct line *line,
                     const uint8_t *arguments);
