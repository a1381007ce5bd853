/* SPDX-License-Identifier: MIT */
#pragma once

/* What can be told of a kernel's event format without parsing all of it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether it is safe to give the text (LEN bytes and a NUL) to libtraceevent, whose parser is
 * recursive and trusting. -EBADMSG: it is not. */
int kernel_format_check(const char *text, size_t len);
/* The number behind "ID:"; -1: none. */
int kernel_format_id(const char *text, size_t len);
/* Where the field NAME lies; false: there is none. */
bool kernel_format_field(const char *text, size_t len, const char *name, uint32_t *ret_offset,
                         uint32_t *ret_size);
