/* SPDX-License-Identifier: MIT */
#pragma once

/* The user's cache: a directory of results about files, and the keys of the results. */

#include <stdbool.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"

/* $XDG_CACHE_HOME/strata, or ~/.cache/strata, and a NUL; an empty text: neither variable is set, or the
 * directory is another user's. */
void cache_dir_put_path(struct text *text);

/* Opens the directory NAME in DIRECTORY, the path of cache_dir_put_path(), to which no other user can write. MAKE: makes
 * missing directories, with mode 0700. Returns the descriptor, or a negative errno with ERROR. */
int cache_dir_open(const char *directory, const char *name, bool make, struct error *error);

/* A key is made of texts, and of files by their paths, sizes, inodes and times of data and inode. A directory counts with
 * all its files. The time of its inode tells of a file whose data were changed and whose time was set back. It also changes with the
 * number of names that a file has, as files of a snapshot have in others: without it, a key tells of data alone. */
#define CACHE_KEY_SIZE (2 * SHA256_SIZE + 1)
void cache_key_put_text(struct sha256 *sha, const char *text);
int cache_key_put_path(struct sha256 *sha, const char *path, bool with_inode_time,
                       struct error *error);
void cache_key_end(struct sha256 *sha, char ret_key[CACHE_KEY_SIZE]);
