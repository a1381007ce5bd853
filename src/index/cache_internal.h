/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the cache share: names of files, and locks. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cache_dir.h"

#define KEY_SIZE CACHE_KEY_SIZE
#define NAME_SIZE (KEY_SIZE + 8)
#define INDEX_SUFFIX ".index"
#define LOCK_SUFFIX ".lock"
#define UNNAMED_SUFFIX ".new"

/* Locks NAME in DIRECTORY, and returns its descriptor. With WAIT, makes NAME, and waits for the lock, until *STOPS (may
 * be NULL) becomes true: -ECANCELED. Without WAIT, -EWOULDBLOCK or -ENOENT. Another negative errno. */
int cache_lock(int directory, const char *name, bool wait, const atomic_bool *stops);
void cache_unlock(int directory, const char *name, int fd);

/* Removes what crashes left, and indexes that were not used for MAX_UNUSED_S seconds. Then, while all indexes have more
 * than MAX_SIZE bytes, removes those that were not used for the longest time. Keeps the index KEEP and indexes that are
 * being built. Errors are ignored. */
void cache_clean(int directory, const char *keep, uint64_t max_size, uint64_t max_unused_s);
