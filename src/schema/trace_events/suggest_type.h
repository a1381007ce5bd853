/* SPDX-License-Identifier: MIT */
#pragma once

/* Guesses the intended type for a type that a declaration cannot have. Only for messages. */

#include <stdbool.h>
#include <stddef.h>

/* Writes a suggestion for the type of LEN bytes at S to BUF ("write 'uint32_t'"). Returns false if there is none; BUF
 * is then unchanged. */
bool suggest_type_suggest(const char *s, size_t len, char *buf, size_t size);

/* True if a ',' is missing in the argument of LEN bytes at S, as in "int a int b". *RET_GAP: where. */
bool suggest_type_gap(const char *s, size_t len, const char **ret_gap);

/* True if the type is "char", const or not. */
bool suggest_type_is_char(const char *s, size_t len);
