/* SPDX-License-Identifier: MIT */
#pragma once

/* UTF-8 as QEMU reads it in QMP: characters that Unicode reserves are none, and what is malformed is replaced a sequence
 * at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one character of TEXT, of N > 0 bytes. Returns how many bytes it has; *RET_CODE is -1 when they
 * are not a character: then it is as many as belong together. */
size_t qemu_utf8_read(const char *text, size_t n, int32_t *ret_code);
/* True if CODE is a character: neither a surrogate nor reserved as no character. */
bool qemu_utf8_is_character(uint32_t code);
