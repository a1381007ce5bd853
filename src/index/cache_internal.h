/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the cache have in common: the names of its files, and its locks. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cache_dir.h"

#define KEY_SIZE CACHE_KEY_SIZE
#define NAME_SIZE (KEY_SIZE + 8)
#define INDEX_SUFFIX ".index"
#define LOCK_SUFFIX ".lock"
#define UNNAMED_SUFFIX ".new"

/* Locks NAME in DIRECTORY, and returns its descriptor. With WAIT, makes NAME and waits for the process that has the lock, or
 * until STOPS, which may be NULL, becomes true: -ECANCELED; else -EWOULDBLOCK, or -ENOENT. A negative errno. */
int cache_lock(int directory, const char *name, bool wait, const atomic_bool *stops);
void cache_unlock(int directory, const char *name, int fd);

/* Removes what crashes left, indexes that were not used for MAX_UNUSED_S seconds, and those least recently used while all
 * take more than MAX_SIZE bytes. The index KEEP stays, and so do those that are being built. What cannot be removed stays. */
void cache_clean(int directory, const char *keep, uint64_t max_size, uint64_t max_unused_s);
