/* SPDX-License-Identifier: MIT */
#pragma once

/* The texts of a tracefs tree, live or copied. */

#include "base/reopen_cache.h"
#include "schema/kernel/events.h"

/* Formats and symbols from the tree at PATH; KALLSYMS (or NULL) instead of the tree's own. CACHE (or NULL), which must
 * outlive them, keeps the numbers of the tree's events, each of which is in a file. -ENOMEM. */
int ftrace_tree_new(const char *path, const char *kallsyms, struct reopen_cache *cache,
                    struct kernel_formats **ret_formats);

/* Some format of the tree, for what all have in common. -ENOENT: the tree holds none. */
int ftrace_tree_any(struct kernel_formats *formats, struct kernel_format *ret);

/* The text of the file NAME of the tree at PATH, from malloc, with a NUL at its end; files of tracefs say
 * that they are 0 bytes long, so the size is not looked at. -ENOENT, -EFBIG: longer than MAX. */
int ftrace_tree_read(const char *path, const char *name, size_t max, char **ret_text,
                     size_t *ret_len);
