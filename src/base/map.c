/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/macro.h"

struct map_slot {
    uint64_t key;     /* the number, or the string's hash */
    const char *name; /* NULL with numbers */
    size_t len;
    void *value; /* NULL: free */
};

/* The finaliser of SplitMix64: every bit of the key moves every bit of the place. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static struct map_slot *find(const struct map *map, uint64_t key, const char *name, size_t len)
{
    size_t at;

    if (map->capacity == 0)
        return NULL;
    /* The table's address is the seed: a file made to collide on one run does not on the next. */
    at = (size_t)mix(key + (uintptr_t)map->slots) & (map->capacity - 1);
    for (;;) {
        struct map_slot *slot = &map->slots[at];
        if (!slot->value)
            return slot;
        if (slot->key == key && (!name || (slot->len == len && memcmp(slot->name, name, len) == 0)))
            return slot;
        at = (at + 1) & (map->capacity - 1);
    }
}

static int grow(struct map *map)
{
    struct map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .used = map->used};

    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct map_slot *slot = &map->slots[i];
        if (slot->value)
            *find(&bigger, slot->key, slot->name, slot->len) = *slot;
    }
    free(map->slots);
    *map = bigger;
    return 0;
}

static int put(struct map *map, uint64_t key, const char *name, size_t len, void *value)
{
    struct map_slot *slot;

    if (map->used * 2 >= map->capacity) {
        int r = grow(map);
        if (r < 0)
            return r;
    }
    slot = find(map, key, name, len);
    if (!slot->value)
        map->used++;
    *slot = (struct map_slot){.key = key, .name = name, .len = len, .value = value};
    return 0;
}

void *map_get(const struct map *map, uint64_t key)
{
    const struct map_slot *slot = find(map, key, NULL, 0);

    return slot ? slot->value : NULL;
}

void *map_get_str(const struct map *map, const char *key, size_t len)
{
    const struct map_slot *slot = find(map, hash_bytes(key, len), key, len);

    return slot ? slot->value : NULL;
}

int map_put(struct map *map, uint64_t key, void *value)
{
    return put(map, key, NULL, 0, value);
}

int map_put_str(struct map *map, const char *key, size_t len, void *value)
{
    return put(map, hash_bytes(key, len), key, len, value);
}

void map_done(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

_Bool map_next(const struct map *map, size_t *iter, uint64_t *ret_key, void **ret_value)
{
    while (*iter < map->capacity) {
        const struct map_slot *slot = &map->slots[(*iter)++];
        if (slot->value) {
            if (ret_key)
                *ret_key = slot->key;
            *ret_value = slot->value;
            return true;
        }
    }
    return false;
}
