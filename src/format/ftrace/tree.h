/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the texts of a tracefs tree, mounted or copied. */

#include "base/reopen_cache.h"
#include "schema/kernel/events.h"

/* Reads formats and symbols from the tree at PATH; KALLSYMS (or NULL) replaces the tree's own. CACHE (or NULL), which
 * must outlive them, keeps the numbers of the tree's events, because each is in its own file. -ENOMEM. */
int ftrace_tree_new(const char *path, const char *kallsyms, struct reopen_cache *cache,
                    struct kernel_formats **ret_formats);

/* Any format of the tree, for what all formats have in common. -ENOENT: the tree has none. */
int ftrace_tree_any(struct kernel_formats *formats, struct kernel_format *ret);

/* Reads the file NAME of the tree at PATH into memory from malloc, with a NUL at its end. The file size is not used,
 * because files of tracefs report 0. -ENOENT; -EFBIG: longer than MAX. */
int ftrace_tree_read(const char *path, const char *name, size_t max, char **ret_text,
                     size_t *ret_len);
