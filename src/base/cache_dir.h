/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory in which what was found out about files is kept for the user, and the keys by which it is kept. */

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"

/* $XDG_CACHE_HOME/strata, or ~/.cache/strata, and a NUL; an empty text: neither variable is set, or the
 * directory is another user's. */
void cache_dir_put_path(struct text *text);

/* Opens the directory NAME in DIRECTORY, as cache_dir_put_path() has it, to which no other user can write. MAKE: both are made, of
 * mode 0700, if they are not there. Its descriptor, or a negative errno with ERROR. */
int cache_dir_open(const char *directory, const char *name, bool make, struct error *error);

/* A key is made of texts, and of files by their paths, sizes, inodes and times, both of the data and of the inode; of a
 * directory by all in it. */
#define CACHE_KEY_SIZE (2 * SHA256_SIZE + 1)
void cache_key_put_text(struct sha256 *sha, const char *text);
int cache_key_put_path(struct sha256 *sha, const char *path, struct error *error);
void cache_key_end(struct sha256 *sha, char ret_key[CACHE_KEY_SIZE]);
