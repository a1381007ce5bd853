/* SPDX-License-Identifier: MIT */
#include "base/reopen_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    char *key;
    void *thing;
    void (*free_thing)(void *thing);
};

struct reopen_cache {
    pthread_mutex_t lock;
    struct entry *entries; /* one for each file: few */
};

struct reopen_cache *reopen_cache_new(void)
{
    struct reopen_cache *cache = calloc(1, sizeof *cache);

    if (cache && pthread_mutex_init(&cache->lock, NULL) != 0) {
        free(cache);
        return NULL;
    }
    return cache;
}

void reopen_cache_free(struct reopen_cache *cache)
{
    if (!cache)
        return;
    while (cache->entries) {
        struct entry *entry = cache->entries;

        cache->entries = entry->next;
        entry->free_thing(entry->thing);
        free(entry->key);
        free(entry);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* With the lock. */
static const struct entry *find(const struct reopen_cache *cache, const char *key)
{
    const struct entry *entry = cache->entries;

    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry;
}

const void *reopen_cache_get(struct reopen_cache *cache, const char *key)
{
    const struct entry *entry;

    if (!cache)
        return NULL;
    pthread_mutex_lock(&cache->lock);
    entry = find(cache, key);
    pthread_mutex_unlock(&cache->lock);
    return entry ? entry->thing : NULL;
}

int reopen_cache_put(struct reopen_cache *cache, const char *key, void *thing,
                     void (*free_thing)(void *thing))
{
    struct entry *entry;
    int r = 0;

    if (!cache)
        return -ENOENT;
    entry = malloc(sizeof *entry);
    if (entry)
        *entry = (struct entry){.key = strdup(key), .thing = thing, .free_thing = free_thing};
    if (!entry || !entry->key) {
        free(entry);
        return -ENOMEM;
    }
    pthread_mutex_lock(&cache->lock);
    if (find(cache, key)) {
        r = -EEXIST;
    } else {
        entry->next = cache->entries;
        cache->entries = entry;
    }
    pthread_mutex_unlock(&cache->lock);
    if (r < 0) {
        free(entry->key);
        free(entry);
    }
    return r;
}
