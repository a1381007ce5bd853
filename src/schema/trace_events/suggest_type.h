/* SPDX-License-Identifier: MIT */
#pragma once

/* What was meant by a type that a declaration cannot have. Only for messages. */

#include <stdbool.h>
#include <stddef.h>

/* Writes what to do about the type of LEN bytes at S ("write 'uint32_t'") to BUF; false: no suggestion,
 * BUF is unchanged. */
bool suggest_type_suggest(const char *s, size_t len, char *buf, size_t size);

/* Whether a ',' is missing in the argument of LEN bytes at S, as in "int a int b"; and where. */
bool suggest_type_gap(const char *s, size_t len, const char **ret_gap);

/* Whether it is "char", of any constness. */
bool suggest_type_is_char(const char *s, size_t len);
