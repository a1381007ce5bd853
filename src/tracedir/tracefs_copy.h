/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of a kernel's tracefs tree that a trace directory has a copy of, since they decode its ring-buffer pages. */

#include <stdbool.h>
#include <stddef.h>

/* True if the file PATH of the tree, LEN bytes of anything, is one of them: no other name may come from a guest. */
bool tracefs_copy_has(const char *path, size_t len);
