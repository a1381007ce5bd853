/* SPDX-License-Identifier: MIT */
#pragma once

/* Things that openings of the same files in one process share, such as an index that needs reading all of a file. The first
 * opening puts a thing here, by a key that names the file, and later openings use it.
 *
 * All openings see the same bytes, even if the files grow, as during a recording: each file ends where it ended when the
 * first opening opened it.
 *
 * A thing does not change after it was put. It lives as long as the cache, which must outlive the openings. Thread-safe,
 * except for reopen_cache_free(). */

#include "base/error.h"
#include "base/input.h"

struct reopen_cache;

/* NULL: memory is out. */
struct reopen_cache *reopen_cache_new(void);
void reopen_cache_free(struct reopen_cache *cache);

/* The thing with KEY; NULL: none, or CACHE is NULL. */
const void *reopen_cache_get(struct reopen_cache *cache, const char *key);

/* Gives THING to CACHE, which calls FREE_THING with it when CACHE is freed. On failure the caller keeps THING. -EEXIST: the
 * key is in use; -ENOENT: CACHE is NULL; -ENOMEM. */
int reopen_cache_put(struct reopen_cache *cache, const char *key, void *thing,
                     void (*free_thing)(void *thing));

/* Makes IN, which was not read yet, end where its file ended in the first opening with CACHE. After reopen_cache_seal(), a
 * file that the first opening did not open is empty. Pipes and files of kernel file systems do not change. -ENOMEM with
 * ERROR. */
int reopen_cache_fix_end(struct reopen_cache *cache, struct input *in, struct error *error);
/* Tells CACHE that the first opening has opened all its files. No effect if CACHE is NULL. */
void reopen_cache_seal(struct reopen_cache *cache);
