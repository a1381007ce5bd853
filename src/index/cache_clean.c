/* SPDX-License-Identifier: MIT */
/* Decides which indexes of the cache are kept. An index that a server has mapped stays readable after its removal, so
 * only the building of an index needs a lock. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "index/cache_internal.h"

struct kept {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

/* True if NAME is a key followed by SUFFIX. Other files do not belong to the cache. */
static bool is_named(const char *name, const char *suffix)
{
    return strspn(name, "0123456789abcdef") == KEY_SIZE - 1 &&
           strcmp(name + KEY_SIZE - 1, suffix) == 0;
}

static int select_index(const struct dirent *entry)
{
    return is_named(entry->d_name, INDEX_SUFFIX);
}

static int select_lock(const struct dirent *entry)
{
    return is_named(entry->d_name, LOCK_SUFFIX);
}

static void free_entries(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
}

/* If a process died while it built an index, its lock is released, but the lock's file and the partial index remain. */
static void remove_leftovers(int directory)
{
    struct dirent **entries;
    int n = scandirat(directory, ".", &entries, select_lock, NULL);

    if (n < 0)
        return;
    for (int i = 0; i < n; i++) {
        const char *lock = entries[i]->d_name;
        int fd = cache_lock(directory, lock, false, NULL);
        char unnamed[NAME_SIZE];

        if (fd < 0)
            continue;
        snprintf(unnamed, sizeof unnamed, "%.*s%s", KEY_SIZE - 1, lock, UNNAMED_SUFFIX);
        unlinkat(directory, unnamed, 0);
        cache_unlock(directory, lock, fd);
    }
    free_entries(entries, n);
}

static int compare_used(const void *a, const void *b)
{
    const struct kept *x = a;
    const struct kept *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec < y->used.tv_nsec) - (x->used.tv_nsec > y->used.tv_nsec);
}

/* Lists all indexes, the last used first. NULL if there are none, or if out of memory. */
static struct kept *list_kept(int directory, unsigned *ret_n)
{
    struct dirent **entries;
    int n = scandirat(directory, ".", &entries, select_index, NULL);
    struct kept *list;
    unsigned found = 0;

    if (n < 0)
        return NULL;
    list = calloc((size_t)n + 1, sizeof *list);
    for (int i = 0; list && i < n; i++) {
        struct stat st;

        if (fstatat(directory, entries[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        memcpy(list[found].name, entries[i]->d_name, KEY_SIZE - 1 + sizeof INDEX_SUFFIX);
        list[found].size = (uint64_t)st.st_size;
        list[found++].used = st.st_mtim;
    }
    free_entries(entries, n);
    if (list)
        qsort(list, found, sizeof *list, compare_used);
    *ret_n = found;
    return list;
}

void cache_clean(int directory, const char *keep, uint64_t max_size, uint64_t max_unused_s)
{
    unsigned n = 0;
    struct kept *list = list_kept(directory, &n);
    struct timespec now;
    uint64_t total = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(list[i].name, keep) == 0)
            total = list[i].size;
    for (unsigned i = 0; i < n; i++) {
        int64_t unused = (int64_t)now.tv_sec - (int64_t)list[i].used.tv_sec;

        if (strcmp(list[i].name, keep) == 0)
            continue;
        if (list[i].size > UINT64_MAX - total)
            total = UINT64_MAX;
        else
            total += list[i].size;
        if (total > max_size || (unused > 0 && (uint64_t)unused > max_unused_s))
            unlinkat(directory, list[i].name, 0);
    }
    free(list);
    remove_leftovers(directory);
}
