/* SPDX-License-Identifier: MIT */
#pragma once

/* How records of a class are parsed and printed. Computed once per class, when its first record is written out, with
 * copies of everything that it needs, so that the event's library may be unloaded. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/format.h"

#define RECORD_HEADER 8 /* bytes before a record's arguments */

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
    /* every field has 8 bytes, so the arguments are already in simpletrace's form */
    bool all_words;
    size_t size; /* bytes of the arguments; without strings if there are strings */
    const struct layout_field *fields;
    const struct layout_step *steps; /* the text after the name, from the format */
    unsigned n_steps;
};

/* The layout of a class, the same at each call; NULL: no such class, or out of memory. Under the pass lock. */
const struct record_layout *layout_of(uint32_t class_id);

/* The size of the arguments at P, of which LEFT bytes exist; SIZE_MAX: they are longer. */
size_t layout_size(const struct record_layout *layout, const uint8_t *p, size_t left);

/* The same for a class whose layout could not be allocated, from its fields; SIZE_MAX also: no such class. */
size_t layout_measure(uint32_t class_id, const uint8_t *p, size_t left);

/* Loads a field as 64 bits, sign-extended if it is signed. */
uint64_t layout_load(const struct layout_field *field, const uint8_t *p);

/* Writes the name and, if there is a format, a blank and the formatted arguments, like strata_log(). */
void layout_put_text(const struct record_layout *layout, struct line *line,
                     const uint8_t *arguments);
