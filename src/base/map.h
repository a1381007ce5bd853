/* SPDX-License-Identifier: MIT */
#pragma once

/* Hash tables with keys that are 64-bit numbers or byte strings, values that are pointers.
 * Open addressing; nothing is ever taken out singly. Keys that are strings are borrowed: they must
 * outlive the map. Not thread-safe. */

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

/* Sets or replaces. VALUE must not be NULL. A map is used with numbers or with strings, not both.
 * 0, -ENOMEM. */
int map_put(struct map *map, uint64_t key, void *value);
int map_put_str(struct map *map, const char *key, size_t len, void *value);

void map_done(struct map *map);

/* All entries in no order: start with *ITER = 0; false when there are no more. */
_Bool map_next(const struct map *map, size_t *iter, uint64_t *ret_key, void **ret_value);
