/* SPDX-License-Identifier: MIT */
#pragma once

/* Hash tables from 64-bit numbers or byte strings to pointers, with open addressing; entries cannot be
 * removed singly. String keys are borrowed and must outlive the map. Not thread-safe. */

#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;
};

/* The value, or NULL. */
void *map_get(const struct map *map, uint64_t key);
void *map_get_str(const struct map *map, const char *key, size_t len);

/* Sets or replaces an entry. VALUE must not be NULL. A map has either number or string keys. 0,
 * -ENOMEM. */
int map_put(struct map *map, uint64_t key, void *value);
int map_put_str(struct map *map, const char *key, size_t len, void *value);

void map_done(struct map *map);

/* Iterates over all entries, in no order: start with *ITER = 0; false after the last one. */
_Bool map_next(const struct map *map, size_t *iter, uint64_t *ret_key, void **ret_value);
