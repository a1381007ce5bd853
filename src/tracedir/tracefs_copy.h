/* SPDX-License-Identifier: MIT */
#pragma once

/* Which files of a kernel's tracefs tree are copied to a trace directory, to decode its ring-buffer pages. */

#include <stdbool.h>
#include <stddef.h>

/* True if the file PATH (LEN arbitrary bytes) of the tree is copied. No other name is accepted from a guest. */
bool tracefs_copy_has(const char *path, size_t len);
