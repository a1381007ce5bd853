/* SPDX-License-Identifier: MIT */
#pragma once

/* What the writer of simpletrace files and the writer of their declarations must agree on. */

#include "event/class.h"

/* Readers, ours and QEMU's, accept at most this many arguments of an event. If a class has more fields, the last
 * argument is a string with the rest, as "name=value name=value ...", so that an event remains one event. */
#define SIMPLETRACE_ARGUMENTS_MAX 10
#define SIMPLETRACE_REST_NAME "other_fields"

static inline bool simpletrace_has_rest(const struct event_class *class)
{
    return class->n_fields > SIMPLETRACE_ARGUMENTS_MAX;
}

/* The number of fields that are separate arguments. */
static inline unsigned simpletrace_arguments(const struct event_class *class)
{
    return simpletrace_has_rest(class) ? SIMPLETRACE_ARGUMENTS_MAX - 1 : class->n_fields;
}

/* True if FIELD is a string in the file: strings, and types that the format does not have (raw memory and floats), as
 * text. All others are 64 bits. */
static inline bool simpletrace_is_string(const struct field *field)
{
    return field->type == FIELD_STRING || field->type == FIELD_BYTES || field->type == FIELD_FLOAT;
}
