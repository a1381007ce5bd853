/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of an event, by the format string of its class or by its fields. Both are compiled once per class, into a short
 * list of operations. */

#include "base/arena.h"
#include "base/printable.h"
#include "event/spec.h"
#include "event/value.h"

struct text_program;

/* Compiles class->format against class->fields. -EINVAL: an unknown conversion, more conversions than
 * fields, or a string conversion for a field that is not a string (or the reverse); -ENOMEM. */
int program_compile(struct arena *arena, const struct event_class *class,
                    const struct text_program **ret_program);

/* Compiles the text of item_put_fields(), for events with a value for each field. -ENOMEM. */
int program_compile_fields(struct arena *arena, const struct event_class *class,
                           const struct text_program **ret_program);

/* Runs a compiled program over an event of its class. False: the event lacks a value that its program needs, and
 * nothing was put; a program of a format never fails. Several threads may run one program at once. */
bool program_run(const struct text_program *program, const struct item *item, struct text *text);

/* Puts the event's text, without name or time: by class->put_text, class->program, or as "name=value"
 * separated by blanks. Strings are put by text_put_safe(), so that an event is one line, whatever a guest put into it. */
void item_put_text(const struct item *item, struct text *text);

/* Puts all fields as "name=value name=value"; strings in quotes. */
void item_put_fields(const struct item *item, struct text *text);

/* Puts one value: numbers in decimal or, if the field says so, as 0x…; strings without quotes. */
void value_put(const struct field *field, const struct value *value, struct text *text);

/* Puts the name of V, or the names of its bits. False: it has none. */
bool value_put_named(const struct value_names *names, uint64_t v, struct text *text);

/* Puts the name of VALUE, of field number FIELD, or the names of its bits. False: it has none, and
 * nothing was put. */
bool item_put_name(const struct item *item, unsigned field, const struct value *value,
                   struct text *text);

/* True if item_put_name() may put something for FIELD of CLASS. */
static inline bool class_may_name(const struct event_class *class, unsigned field)
{
    const struct field *of = &class->fields[field];

    if (class->put_name)
        return class->named_fields
                   ? class->named_fields[field]
                   : of->type != FIELD_STRING && of->type != FIELD_BYTES && of->type != FIELD_FLOAT;
    return of->names;
}

/* Puts one number or character by SPEC, as printf would; star widths and precisions are already
 * resolved. V is cut to the size of the conversion. */
void spec_put_integer(const struct spec *spec, uint64_t v, struct text *text);
void spec_put_string(const struct spec *spec, const char *s, size_t len, struct text *text);
