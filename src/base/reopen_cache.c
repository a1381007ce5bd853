/* SPDX-License-Identifier: MIT */
#include "base/reopen_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

struct entry {
    struct entry *next;
    char *key;
    void *thing;
    void (*free_thing)(void *thing);
};

struct reopen_cache {
    pthread_mutex_t lock;
    struct entry *entries; /* one for each file: few */
    atomic_bool is_sealed;
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

/* Whether FD is of a filesystem whose files have bytes though their size is 0. */
static bool is_made_by_kernel(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    switch ((unsigned long)fs.f_type) {
    case TRACEFS_MAGIC:
    case DEBUGFS_MAGIC:
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC: return true;
    default: return false;
    }
}

int reopen_cache_fix_end(struct reopen_cache *cache, struct input *in, struct error *error)
{
    const uint64_t *known;
    struct stat st;
    char key[64];

    if (!cache || in->fd < 0 || !in->seekable || in->size == UINT64_MAX || fstat(in->fd, &st) < 0 ||
        is_made_by_kernel(in->fd))
        return 0;
    snprintf(key, sizeof key, "end %ju %ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    known = reopen_cache_get(cache, key);
    if (!known && !atomic_load(&cache->is_sealed)) {
        uint64_t *size = malloc(sizeof *size);
        int r = -ENOMEM;

        if (size) {
            *size = in->size;
            r = reopen_cache_put(cache, key, size, free);
        }
        if (r < 0)
            free(size);
        if (r == -ENOMEM)
            return error_set(error, r, in->path, "out of memory");
        known = reopen_cache_get(cache, key);
    }
    in->size = known ? *known : 0;
    in->is_fixed = true;
    return 0;
}

void reopen_cache_seal(struct reopen_cache *cache)
{
    if (cache)
        atomic_store(&cache->is_sealed, true);
}
