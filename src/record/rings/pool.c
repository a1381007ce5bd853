/* SPDX-License-Identifier: MIT */
#include "record/rings/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define POOL_DIR "/" POOL_DIR_NAME
#define POOL_PATH POOL_DIR "/" POOL_FILE_NAME
#define PATH_SIZE 4096

static int path_in(char path[PATH_SIZE], const char *parent, const char *rest)
{
    return snprintf(path, PATH_SIZE, "%s%s", parent, rest) < PATH_SIZE ? 0 : -ENAMETOOLONG;
}

void pool_close(struct pool *pool)
{
    if (!pool)
        return;
    shared_map_done(&pool->map);
    if (pool->fd >= 0)
        close(pool->fd);
    free(pool);
}

/* FLAGS are of open(). The head and the entries are mapped; with MAKES the file is made long first. */
static int open_pool(const char *path, int flags, bool makes, struct pool **ret)
{
    struct pool *pool = calloc(1, sizeof *pool);
    struct stat st;
    int r;

    if (!pool)
        return -ENOMEM;
    pool->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    if (pool->fd < 0 || (makes && ftruncate(pool->fd, (off_t)POOL_SIZE) < 0) ||
        fstat(pool->fd, &st) < 0)
        r = -errno;
    else if (!S_ISREG(st.st_mode) || st.st_size != (off_t)POOL_SIZE)
        r = -EBADMSG;
    else
        r = shared_map_init(&pool->map, pool->fd, 0, sizeof *pool->file, true, false);
    pool->file = pool->map.bytes;
    if (r < 0 || !pool->file) {
        pool_close(pool);
        return r < 0 ? r : -EIO;
    }
    *ret = pool;
    return 0;
}

int pool_make(const char *parent, struct pool **ret)
{
    struct pool *pool = NULL;
    char path[PATH_SIZE];
    int r = path_in(path, parent, POOL_DIR);

    if (r >= 0 && mkdir(path, 0700) < 0)
        r = -errno;
    if (r >= 0)
        r = path_in(path, parent, POOL_PATH);
    if (r < 0)
        return r;
    r = open_pool(path, O_CREAT | O_EXCL, true, &pool);
    if (r < 0) {
        pool_remove(parent);
        return r;
    }
    pool->file->version = POOL_VERSION;
    pool->file->n_slots = POOL_SLOTS;
    pool->file->slot_size = POOL_SLOT_SIZE;
    memcpy(pool->file->magic, POOL_MAGIC, sizeof pool->file->magic);
    *ret = pool;
    return 0;
}

int pool_open(const char *parent, struct pool **ret)
{
    struct pool *pool = NULL;
    char path[PATH_SIZE];
    int r = path_in(path, parent, POOL_PATH);

    if (r >= 0)
        r = open_pool(path, 0, false, &pool);
    if (r < 0)
        return r;
    if (memcmp(pool->file->magic, POOL_MAGIC, sizeof pool->file->magic) != 0 ||
        pool->file->version != POOL_VERSION) {
        pool_close(pool);
        return -EBADMSG;
    }
    *ret = pool;
    return 0;
}

void pool_remove(const char *parent)
{
    struct pool *pool;
    struct pool_slot slot;
    char path[PATH_SIZE];
    bool in_use = false;

    if (pool_open(parent, &pool) >= 0) {
        for (unsigned i = 0; i < POOL_SLOTS; i++)
            in_use |= pool_get(pool, i, &slot);
        pool_close(pool);
    }
    if (in_use)
        return;
    if (path_in(path, parent, POOL_PATH) >= 0)
        (void)unlink(path);
    if (path_in(path, parent, POOL_DIR) >= 0)
        (void)rmdir(path);
}

bool pool_get(const struct pool *pool, unsigned slot, struct pool_slot *ret)
{
    struct pool_slot *entry = &pool->file->slots[slot];

    ret->length = __atomic_load_n(&entry->length, __ATOMIC_ACQUIRE);
    ret->pid = __atomic_load_n(&entry->pid, __ATOMIC_RELAXED);
    ret->number = __atomic_load_n(&entry->number, __ATOMIC_RELAXED);
    ret->start = __atomic_load_n(&entry->start, __ATOMIC_RELAXED);
    ret->reserved = 0;
    return ret->pid != 0 && ret->pid <= INT32_MAX && ret->length > 0 &&
           ret->length <= POOL_SLOT_SIZE;
}

int pool_find(const struct pool *pool, uint32_t pid, uint64_t start, uint32_t number)
{
    struct pool_slot slot;

    for (unsigned i = 0; i < POOL_SLOTS; i++)
        if (pool_get(pool, i, &slot) && slot.pid == pid && slot.start == start &&
            slot.number == number)
            return (int)i;
    return -1;
}

void pool_free(struct pool *pool, uint32_t pid, uint64_t start)
{
    for (unsigned i = 0; i < POOL_SLOTS; i++) {
        struct pool_slot *entry = &pool->file->slots[i];

        if (__atomic_load_n(&entry->pid, __ATOMIC_RELAXED) != pid || entry->start != start)
            continue;
        if (fallocate(pool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      (off_t)pool_slot_offset(i), (off_t)POOL_SLOT_SIZE) < 0)
            continue; /* who takes a slot relies on zeros */
        __atomic_store_n(&entry->length, 0, __ATOMIC_RELAXED);
        entry->start = 0;
        /* Release: the next process finds the slot empty. */
        __atomic_store_n(&entry->pid, 0, __ATOMIC_RELEASE);
    }
}
