/* SPDX-License-Identifier: MIT */
#pragma once

/* The arguments of "%s" in a print format: strings, flags, names of numbers, dumps. */

#include "base/text.h"
#include "schema/kernel/text_code.h"

/* Compiles NODE; NULL: out of memory. */
const struct kernel_string_arg *kernel_string_arg_compile(struct kernel_compiler *c,
                                                          const struct print_node *node);

/* Writes the argument. LAST: leaves out a line break at the end of a string. */
void kernel_string_arg_put(const struct kernel_string_arg *string_arg, const struct spec *spec,
                           bool last, const struct kernel_run *run, struct kernel_events *events,
                           bool big_endian, struct text *text);

/* Cleans text of a print format for output: a line break becomes a blank, a tab stays, other control characters become
 * \xNN. OUT must have room for four times LEN. Returns the new length. */
size_t kernel_literal_clean(const char *s, size_t len, char *out);
