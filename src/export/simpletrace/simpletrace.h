/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the simple trace backend and the declarations that read them have to agree on. */

#include "event/class.h"

/* Whether FIELD is a string in the file: those that are, and what the format has no word for: raw
 * memory and floats, as text. All others are 64 bits. */
static inline bool simpletrace_is_string(const struct field *field)
{
    return field->type == FIELD_STRING || field->type == FIELD_BYTES || field->type == FIELD_FLOAT;
}
