/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the simple trace backend and the declarations that read them have to agree on. */

#include "event/class.h"

/* Readers, ours and QEMU's, accept at most this many arguments of an event. Where a class has more fields, the
 * last argument is a string that holds all from there on, as "name=value name=value ...": an event stays one
 * event. */
#define SIMPLETRACE_ARGUMENTS_MAX 10
#define SIMPLETRACE_REST_NAME "other_fields"

static inline bool simpletrace_has_rest(const struct event_class *class)
{
    return class->n_fields > SIMPLETRACE_ARGUMENTS_MAX;
}

/* How many fields are arguments of their own. */
static inline unsigned simpletrace_arguments(const struct event_class *class)
{
    return simpletrace_has_rest(class) ? SIMPLETRACE_ARGUMENTS_MAX - 1 : class->n_fields;
}

/* Whether FIELD is a string in the file: those that are, and what the format has no word for: raw
 * memory and floats, as text. All others are 64 bits. */
static inline bool simpletrace_is_string(const struct field *field)
{
    return field->type == FIELD_STRING || field->type == FIELD_BYTES || field->type == FIELD_FLOAT;
}
