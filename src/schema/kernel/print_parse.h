/* SPDX-License-Identifier: MIT */
#pragma once

/* The parser of print formats: from the text after "print fmt:" to a tree.
 *
 * The text comes from the traced kernel and is hostile. Nesting, operators, strings and words are limited, so that
 * neither the parser nor a walk over the tree can run out of stack. */

#include "base/arena.h"
#include "base/error.h"
#include "schema/kernel/print_tree.h"

struct kernel_event_format;

/* Parses the print format of FORMAT into ARENA. -EBADMSG: not understood; ERROR has PATH, the line in the format file,
 * and the first unexpected token; -ENOMEM. */
int print_parse(struct arena *arena, const struct kernel_event_format *format, uint8_t long_size,
                const char *path, struct print_tree *ret_tree, struct error *error);
