/* SPDX-License-Identifier: MIT */
#pragma once

/* What openings of the same files in one process have in common, as an index that was read from all over a file: the first
 * opening puts it here by a key that names the file, and the later ones use it.
 *
 * All openings have the same bytes, even if the files grow meanwhile, as of a trace that is being recorded: each file ends
 * where it ended when the first opening opened it.
 *
 * What was put does not change any more, and lives as long as the cache, which must outlive the openings. Thread-safe,
 * but for reopen_cache_free(). */

#include "base/error.h"
#include "base/input.h"

struct reopen_cache;

/* NULL: memory is out. */
struct reopen_cache *reopen_cache_new(void);
void reopen_cache_free(struct reopen_cache *cache);

/* What was put by KEY; NULL: nothing, or there is no CACHE. */
const void *reopen_cache_get(struct reopen_cache *cache, const char *key);

/* Gives THING to CACHE, which calls FREE with it at its own end. Otherwise it remains the caller's: -EEXIST: there is one of
 * this key; -ENOENT: there is no CACHE; -ENOMEM. */
int reopen_cache_put(struct reopen_cache *cache, const char *key, void *thing,
                     void (*free_thing)(void *thing));

/* Has IN, from which nothing was read yet, end where the first opening with CACHE found its file to end. After
 * reopen_cache_seal(), a file that the first opening did not open is empty. Leaves pipes and the files of the kernel's
 * filesystems alone. -ENOMEM with ERROR. */
int reopen_cache_fix_end(struct reopen_cache *cache, struct input *in, struct error *error);
/* The first opening has opened all its files. NULL: no effect. */
void reopen_cache_seal(struct reopen_cache *cache);
