/* SPDX-License-Identifier: MIT */
#include "format/ftrace/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/map.h"
#include "schema/kernel/format.h"

#define FORMAT_MAX ((size_t)256 * 1024)
#define KALLSYMS_MAX ((size_t)64 * 1024 * 1024)
/* The line "ID:" is the second; names are shorter than this. */
#define FORMAT_HEAD 512

struct tree_event {
    const char *system;
    const char *name;
};

struct tree_events {
    struct arena arena;
    struct map by_id; /* of struct tree_event */
};

struct tree {
    struct kernel_formats formats;
    char *path;
    char *kallsyms;
    const struct tree_events *events; /* NULL: no format was asked for yet */
    struct tree_events *own_events;   /* NULL: the events are in `cache` */
    struct reopen_cache *cache;
    char *text; /* of the format lent last */
    char *format_path;
};

/* Reads FD to its end, at most MAX bytes, and appends a NUL. */
static int read_all(int fd, size_t max, char **ret_text, size_t *ret_len)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0, capacity = 0;

    for (;;) {
        ssize_t n;

        if (len + 1 >= capacity) {
            char *bigger;
            capacity = capacity ? capacity * 2 : 8192;
            bigger = realloc(text, capacity);
            if (!bigger)
                return -ENOMEM;
            text = bigger;
        }
        n = read(fd, text + len, capacity - len - 1);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > max)
            return -EFBIG;
    }
    text[len] = '\0';
    *ret_len = len;
    *ret_text = TAKE_PTR(text);
    return 0;
}

static int read_file(int dir, const char *name, size_t max, char **ret_text, size_t *ret_len)
{
    _cleanup_(closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    return read_all(fd, max, ret_text, ret_len);
}

int ftrace_tree_read(const char *path, const char *name, size_t max, char **ret_text,
                     size_t *ret_len)
{
    _cleanup_(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return -errno;
    return read_file(dir, name, max, ret_text, ret_len);
}

/* Reads the number of the event in the directory NAME of SYSTEM. */
static int scan_event(struct tree_events *events, int dir, const char *system, const char *name)
{
    char path[NAME_MAX + 16], head[FORMAT_HEAD];
    struct tree_event *event;
    ssize_t n;
    int fd, id;

    snprintf(path, sizeof path, "%s/format", name);
    fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return error_is_local(-errno) ? -errno : 0;
    n = read(fd, head, sizeof head);
    id = n < 0 ? -errno : 0;
    close(fd);
    if (error_is_local(id))
        return id;
    id = n > 0 ? kernel_format_id(head, (size_t)n) : -1;
    if (id < 0 || map_get(&events->by_id, (uint64_t)id))
        return 0;
    event = arena_alloc(&events->arena, sizeof *event);
    if (!event)
        return -ENOMEM;
    event->system = system;
    event->name = arena_strdup(&events->arena, name);
    if (!event->name)
        return -ENOMEM;
    return map_put(&events->by_id, (uint64_t)id, event);
}

static int scan_system(struct tree_events *events, int parent, const char *name)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(parent, name);
    const char *system;
    struct dirent *entry;

    if (!dir)
        return error_is_local(-errno) ? -errno : 0;
    system = arena_strdup(&events->arena, name);
    if (!system)
        return -ENOMEM;
    while ((entry = readdir(dir))) {
        int r;

        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        r = scan_event(events, dirfd(dir), system, entry->d_name);
        if (r < 0)
            return r;
    }
    return 0;
}

static int scan(struct tree_events *events, const char *path)
{
    _cleanup_(closep) int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedirp) DIR *dir = NULL;
    struct dirent *entry;

    if (root < 0)
        return -errno;
    dir = open_dir_at(root, "events");
    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        int r;

        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        r = scan_system(events, dirfd(dir), entry->d_name);
        if (r < 0)
            return r;
    }
    return 0;
}

static void free_events(void *thing)
{
    struct tree_events *events = thing;

    if (!events)
        return;
    map_done(&events->by_id);
    arena_done(&events->arena);
    free(events);
}

/* Finds the events of the tree: once, and by the first opening alone where there is a cache. */
static int find_events(struct tree *tree)
{
    _cleanup_free_ char *key = NULL;
    int r;

    if (tree->events)
        return 0;
    if (asprintf(&key, "ftrace events %s", tree->path) < 0) {
        key = NULL;
        return -ENOMEM;
    }
    tree->events = reopen_cache_get(tree->cache, key);
    if (tree->events)
        return 0;
    tree->own_events = calloc(1, sizeof *tree->own_events);
    if (!tree->own_events)
        return -ENOMEM;
    tree->events = tree->own_events;
    r = scan(tree->own_events, tree->path);
    if (r == 0 && reopen_cache_put(tree->cache, key, tree->own_events, free_events) == 0)
        tree->own_events = NULL;
    return r;
}

static int read_format(struct tree *tree, const struct tree_event *event, struct kernel_format *ret)
{
    size_t len;
    int r;

    free(TAKE_PTR(tree->text));
    free(TAKE_PTR(tree->format_path));
    if (asprintf(&tree->format_path, "%s/events/%s/%s/format", tree->path, event->system,
                 event->name) < 0) {
        tree->format_path = NULL;
        return -ENOMEM;
    }
    r = read_file(AT_FDCWD, tree->format_path, FORMAT_MAX, &tree->text, &len);
    if (r < 0)
        return r;
    *ret = (struct kernel_format){
        .text = tree->text,
        .len = len,
        .system = event->system,
        .path = tree->format_path,
    };
    return 0;
}

static int tree_format(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret)
{
    struct tree *tree = container_of(formats, struct tree, formats);
    const struct tree_event *event;
    int r = find_events(tree);

    if (r < 0)
        return r;
    event = map_get(&tree->events->by_id, id);
    return event ? read_format(tree, event, ret) : -ENOENT;
}

int ftrace_tree_any(struct kernel_formats *formats, struct kernel_format *ret)
{
    struct tree *tree = container_of(formats, struct tree, formats);
    size_t iter = 0;
    void *event;
    int r = find_events(tree);

    if (r < 0)
        return r;
    while (map_next(&tree->events->by_id, &iter, NULL, &event)) {
        r = read_format(tree, event, ret);
        if (r == 0 || error_is_local(r))
            return r;
    }
    return -ENOENT;
}

static int tree_kallsyms(struct kernel_formats *formats, char **ret_text, size_t *ret_len)
{
    struct tree *tree = container_of(formats, struct tree, formats);
    int r;

    if (tree->kallsyms)
        return read_file(AT_FDCWD, tree->kallsyms, KALLSYMS_MAX, ret_text, ret_len);
    r = ftrace_tree_read(tree->path, "kallsyms", KALLSYMS_MAX, ret_text, ret_len);
    if (r == 0 || error_is_local(r))
        return r;
    return ftrace_tree_read(tree->path, "proc/kallsyms", KALLSYMS_MAX, ret_text, ret_len);
}

static void tree_free(struct kernel_formats *formats)
{
    struct tree *tree = container_of(formats, struct tree, formats);

    free_events(tree->own_events);
    free(tree->text);
    free(tree->format_path);
    free(tree->path);
    free(tree->kallsyms);
    free(tree);
}

int ftrace_tree_new(const char *path, const char *kallsyms, struct reopen_cache *cache,
                    struct kernel_formats **ret_formats)
{
    struct tree *tree = calloc(1, sizeof *tree);

    if (!tree)
        return -ENOMEM;
    tree->formats.format = tree_format;
    tree->formats.kallsyms = tree_kallsyms;
    tree->formats.free = tree_free;
    tree->cache = cache;
    tree->formats.path = tree->path = strdup(path);
    tree->kallsyms = kallsyms ? strdup(kallsyms) : NULL;
    if (!tree->path || (kallsyms && !tree->kallsyms)) {
        tree_free(&tree->formats);
        return -ENOMEM;
    }
    *ret_formats = &tree->formats;
    return 0;
}
