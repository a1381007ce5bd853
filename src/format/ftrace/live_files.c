/* SPDX-License-Identifier: MIT */
#include "format/ftrace/live_files.h"

#include <string.h>

#include "base/macro.h"
#include "format/ftrace/live.h"
#include "schema/kernel/format.h"

#define PATH_LEN_MAX 512

static void free_file(struct live_file *file)
{
    if (!file)
        return;
    free(file->path);
    free(file->text);
    free(file);
}

static int format_of(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret)
{
    const struct live_files *files = container_of(formats, struct live_files, formats);
    const struct live_file *file = map_get(&files->by_id, id);

    if (!file)
        return -ENOENT;
    *ret = (struct kernel_format){file->text, file->len, file->system, file->path};
    return 0;
}

static int kallsyms_of(struct kernel_formats *formats, char **ret_text, size_t *ret_len)
{
    const struct live_files *files = container_of(formats, struct live_files, formats);
    const struct live_file *file = map_get_str(&files->by_path, "kallsyms", strlen("kallsyms"));
    char *copy;

    if (!file)
        return -ENOENT;
    copy = malloc(file->len + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, file->text, file->len + 1);
    *ret_text = copy;
    *ret_len = file->len;
    return 0;
}

static void free_files(struct kernel_formats *formats)
{
    struct live_files *files = container_of(formats, struct live_files, formats);

    for (unsigned i = 0; i < files->n_files; i++)
        free_file(files->files[i]);
    map_done(&files->by_path);
    map_done(&files->by_id);
    arena_done(&files->arena);
    free(files);
}

struct live_files *live_files_new(void)
{
    struct live_files *files = calloc(1, sizeof *files);

    if (files)
        files->formats = (struct kernel_formats){
            .format = format_of, .kallsyms = kallsyms_of, .free = free_files};
    return files;
}

const struct live_file *live_files_find(const struct live_files *files, const char *path)
{
    return map_get_str(&files->by_path, path, strlen(path));
}

bool live_files_any_format(const struct live_files *files, struct kernel_format *ret)
{
    const struct live_file *file;
    size_t iter = 0;
    void *any;

    if (!map_next(&files->by_id, &iter, NULL, &any))
        return false;
    file = any;
    *ret = (struct kernel_format){file->text, file->len, file->system, file->path};
    return true;
}

/* "events/SYSTEM/EVENT/format": its number, and its system's name. */
static int list_format(struct live_files *files, struct live_file *file)
{
    size_t len = strlen(file->path);
    const char *slash;
    int id;

    if (len < 14 || memcmp(file->path, "events/", 7) != 0 ||
        strcmp(file->path + len - 7, "/format") != 0)
        return 0;
    slash = strchr(file->path + 7, '/');
    id = kernel_format_id(file->text, file->len);
    if (id < 0 || id > UINT16_MAX || map_get(&files->by_id, (uint64_t)id))
        return 0;
    file->system = arena_strndup(&files->arena, file->path + 7, (size_t)(slash - file->path) - 7);
    return file->system ? map_put(&files->by_id, (uint64_t)id, file) : -ENOMEM;
}

static int add_file(struct live_files *files, const char *path, char **text, size_t len)
{
    struct live_file *file;

    if (files->n_files == LIVE_FILES_MAX || strlen(path) > PATH_LEN_MAX)
        return -E2BIG;
    file = calloc(1, sizeof *file);
    if (!file)
        return -ENOMEM;
    file->path = strdup(path);
    if (!file->path || map_put_str(&files->by_path, file->path, strlen(path), file) < 0) {
        free_file(file);
        return -ENOMEM;
    }
    files->files[files->n_files++] = file;
    file->text = TAKE_PTR(*text);
    file->len = len;
    return list_format(files, file);
}

bool live_files_has_room(const struct live_files *files, const char *path, size_t len)
{
    const struct live_file *file = live_files_find(files, path);

    return len <= FTRACE_LIVE_FILES_MAX - (files->bytes - (file ? file->len : 0));
}

int live_files_put(struct live_files *files, const char *path, char **text, size_t len)
{
    struct live_file *file = map_get_str(&files->by_path, path, strlen(path));
    size_t before = file ? file->len : 0;
    int r;

    if (file) {
        free(file->text);
        file->text = TAKE_PTR(*text);
        file->len = len;
        r = file->system ? 0 : list_format(files, file);
    } else {
        r = add_file(files, path, text, len);
    }
    if (!*text)
        files->bytes += len - before;
    return r;
}
