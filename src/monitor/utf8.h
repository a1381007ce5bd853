/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads UTF-8 like QEMU does in QMP: characters that Unicode reserves are invalid, and a malformed sequence is replaced
 * as a whole. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one character of TEXT, which has N > 0 bytes. Returns its length in bytes. *RET_CODE is -1 if the bytes are not
 * a character; the result is then the length of the malformed sequence. */
size_t qemu_utf8_read(const char *text, size_t n, int32_t *ret_code);
/* True if CODE is a character: neither a surrogate nor reserved as no character. */
bool qemu_utf8_is_character(uint32_t code);
