/* SPDX-License-Identifier: MIT */
#pragma once

/* What a "%s" of a print format shows: strings, flags, names of numbers, dumps. */

#include "base/text.h"
#include "schema/kernel/text_code.h"

/* Compiles NODE; NULL when memory is out. */
const struct kernel_string_arg *kernel_string_arg_compile(struct kernel_compiler *c,
                                                          const struct print_node *node);

/* Writes it. `last`: a line break at the end of a string is left out. */
void kernel_string_arg_put(const struct kernel_string_arg *string_arg, const struct spec *spec,
                           bool last, const struct kernel_run *run, struct kernel_events *events,
                           bool big_endian, struct text *text);

/* Text of a print format for the output: a line break becomes a blank, a tab stays, other control
 * characters are written as \xNN. OUT has room for four times LEN. Returns the new length. */
size_t kernel_literal_clean(const char *s, size_t len, char *out);
