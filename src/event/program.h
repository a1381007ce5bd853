/* SPDX-License-Identifier: MIT */
#pragma once

/* Format strings compiled once per class into a short list of operations, and the text of an event.
 */

#include "base/arena.h"
#include "base/printable.h"
#include "event/spec.h"
#include "event/value.h"

struct text_program;

/* Compiles class->format against class->fields. -EINVAL: a conversion is not understood, there are
 * more conversions than fields, or one asks for a string where the field is none (or the other way
 * round); -ENOMEM. */
int program_compile(struct arena *arena, const struct event_class *class,
                    const struct text_program **ret_program);

/* Runs a compiled program over an event of the class that it was compiled for. */
void program_run(const struct text_program *program, const struct item *item, struct text *text);

/* The event's text, without name or time: by class->put_text, class->program, or as "name=value"
 * with a blank between. Strings are written as text_put_safe() has them, so that an event is one
 * line whatever a guest put into it. */
void item_put_text(const struct item *item, struct text *text);
/* The same with the VALUES of its fields at hand. */
void item_put_text_of(const struct item *item, const struct value *values, struct text *text);

/* All fields as "name=value name=value"; strings in quotes. */
void item_put_fields(const struct item *item, struct text *text);

/* One value by itself: numbers in decimal or, where the field says so, as 0x…; strings bare. */
void value_put(const struct field *field, const struct value *value, struct text *text);

/* V by its name, or by those of its bits. Returns whether it has one. */
bool value_put_named(const struct value_names *names, uint64_t v, struct text *text);

/* The name of VALUE, of the field of that number, or those of its bits. False: it has none, and nothing is written. */
bool item_put_name(const struct item *item, unsigned field, const struct value *value,
                   struct text *text);

/* Whether item_put_name() may write something for FIELD of CLASS. */
static inline bool class_may_name(const struct event_class *class, unsigned field)
{
    const struct field *of = &class->fields[field];

    if (class->put_name)
        return of->type != FIELD_STRING && of->type != FIELD_BYTES && of->type != FIELD_FLOAT;
    return of->names;
}

/* One number or character by SPEC, as printf would write it; width and precision already taken from
 * the arguments where they were stars. V is cut to the size that the conversion asks for. */
void spec_put_integer(const struct spec *spec, uint64_t v, struct text *text);
void spec_put_string(const struct spec *spec, const char *s, size_t len, struct text *text);
