/* SPDX-License-Identifier: MIT */
#include "tracedir/source_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/utf8.h"

struct list {
    struct manifest_file *files;
    unsigned n, room, max;
    struct arena *arena;
};

static bool has(const struct list *list, const char *path)
{
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->files[i].path, path) == 0)
            return true;
    return false;
}

/* -E2BIG if the list is full; -ENOMEM. */
static int add(struct list *list, const char *path, const struct stat *st)
{
    const char *copy;

    if (!manifest_path_is_fine(path) || utf8_find_wrong(path, strlen(path)))
        return 0;
    if (list->n == list->max)
        return -E2BIG;
    if (list->n == list->room) {
        unsigned room = MAX(2 * list->room, 16u);
        struct manifest_file *bigger = reallocarray(list->files, room, sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        list->files = bigger;
        list->room = room;
    }
    copy = arena_strdup(list->arena, path);
    if (!copy)
        return -ENOMEM;
    list->files[list->n++] = (struct manifest_file){copy, (uint64_t)st->st_size};
    return 0;
}

static int add_directory(struct list *list, int dir, const char *path)
{
    _cleanup_(closedirp) DIR *entries = open_dir_at(dir, path);
    const struct dirent *entry;
    int r = 0;

    while (r >= 0 && entries && (entry = readdir(entries))) {
        char full[PATH_MAX];
        struct stat st;

        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(entries), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) &&
            snprintf(full, sizeof full, "%s/%s", path, entry->d_name) < (int)sizeof full)
            r = add(list, full, &st);
    }
    return r;
}

/* Adds a file, or the files of a directory. */
static int add_path(struct list *list, int dir, const char *path)
{
    struct stat st;

    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return add_directory(list, dir, path);
    return S_ISREG(st.st_mode) && !has(list, path) ? add(list, path, &st) : 0;
}

/* Compares by number if names have numbers: "stream-9" before "stream-10". */
static int compare(const void *a, const void *b)
{
    const struct manifest_file *x = a, *y = b;

    return strverscmp(x->path, y->path);
}

static int find(struct list *list, int dir, const struct manifest_source *source)
{
    int r = add_path(list, dir, source->path);

    for (unsigned i = 0; i < source->n_events && r >= 0; i++)
        r = add_path(list, dir, source->events[i]);
    return r >= 0 && source->clock.pairs ? add_path(list, dir, source->clock.pairs) : r;
}

int source_files_find(int dir, struct manifest_source *sources, unsigned n, struct arena *arena)
{
    unsigned left = MANIFEST_FILES_MAX;
    int r = 0;

    for (unsigned i = 0; i < n && r != -ENOMEM; i++) {
        struct manifest_source *source = &sources[i];
        struct list list = {.arena = arena, .max = left};

        source->files = NULL;
        source->n_files = 0;
        r = r < 0 || !manifest_source_has_events(source) ? r : find(&list, dir, source);
        if (r >= 0 && list.n > 0) {
            qsort(list.files, list.n, sizeof *list.files, compare);
            source->files = arena_memdup(arena, list.files, list.n * sizeof *list.files);
            source->n_files = source->files ? list.n : 0;
            r = source->files ? r : -ENOMEM;
            left -= list.n;
        }
        free(list.files);
    }
    return r == -ENOMEM ? r : 0;
}
