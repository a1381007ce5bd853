/* SPDX-License-Identifier: MIT */
#include "tracedir/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MAX_LEN 64
#define PATH_MAX_LEN 1024

static bool is_name(const char *s)
{
    size_t len = strlen(s);

    if (len == 0 || len > NAME_MAX_LEN || s[0] == '.')
        return false;
    for (; *s; s++)
        if (!((*s >= '0' && *s <= '9') || ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'z') || *s == '_' ||
              *s == '.' || *s == '-'))
            return false;
    return true;
}

bool manifest_path_is_fine(const char *path)
{
    if (strlen(path) > PATH_MAX_LEN)
        return false;
    for (;;) {
        size_t len = strcspn(path, "/");

        if (len == 0 || (len == 1 && path[0] == '.') ||
            (len == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (path[len] == '\0')
            return true;
        path += len + 1;
    }
}

static int check_path(unsigned i, const char *path, const char *name, struct error *error)
{
    if (manifest_path_is_fine(path))
        return 0;
    return error_set(error, -EINVAL, name,
                     "sources[%u]: the path '%.80s' does not stay in the trace's directory", i,
                     path);
}

static int check_source(const struct manifest *manifest, unsigned i, const char *name,
                        struct error *error)
{
    const struct manifest_source *source = &manifest->sources[i];
    int r;

    if (!source->name || !source->kind || !source->layer || !source->path)
        return error_set(error, -EINVAL, name,
                         "sources[%u] needs a name, a kind, a layer and a path", i);
    if (!is_name(source->name))
        return error_set(error, -EINVAL, name,
                         "sources[%u]: a name consists of 1 to %d letters, digits and _ . -, not "
                         "'%.80s'",
                         i, NAME_MAX_LEN, source->name);
    for (unsigned j = 0; j < i; j++)
        if (strcmp(manifest->sources[j].name, source->name) == 0)
            return error_set(error, -EINVAL, name, "two sources have the name '%s'", source->name);
    r = check_path(i, source->path, name, error);
    for (unsigned j = 0; j < source->n_events && r >= 0; j++)
        r = check_path(i, source->events[j], name, error);
    for (unsigned j = 0; j < source->n_files && r >= 0; j++)
        r = check_path(i, source->files[j].path, name, error);
    if (r >= 0 && source->clock.pairs)
        r = check_path(i, source->clock.pairs, name, error);
    if (r >= 0 && source->clock.pairs && source->clock.host)
        r = error_set(error, -EINVAL, name,
                      "sources[%u]: its clock is either the host's own or related to that by "
                      "pairs, not both",
                      i);
    if (r >= 0 && source->clock.host && source->clock.hz != 0 && source->clock.hz != 1000000000)
        r = error_set(error, -EINVAL, name,
                      "sources[%u]: the host's own clock has 1000000000 ticks a second", i);
    return r;
}

int manifest_check(const struct manifest *manifest, const char *name, struct error *error)
{
    int r = 0;

    if (manifest->n_sources > MANIFEST_SOURCES_MAX)
        return error_set(error, -EINVAL, name, "more than %d sources", MANIFEST_SOURCES_MAX);
    for (unsigned i = 0; i < manifest->n_sources && r >= 0; i++)
        r = check_source(manifest, i, name, error);
    return r;
}

int manifest_resolve(const char *dir, const char *path, char **ret_path, struct error *error)
{
    size_t dir_len = strlen(dir);
    size_t size = dir_len + 1 + strlen(path) + 1;
    _cleanup_free_ char *full = malloc(size);
    char *part;

    if (!manifest_path_is_fine(path))
        return error_set(error, -EINVAL, dir,
                         "the path '%.80s' does not stay in the trace's directory", path);
    if (!full)
        return error_set(error, -ENOMEM, dir, "out of memory");
    snprintf(full, size, "%s/%s", dir, path);
    part = full + dir_len;
    do {
        struct stat st;
        int r;

        part = strchr(part + 1, '/');
        if (part)
            *part = '\0';
        r = lstat(full, &st) < 0 ? -errno : 0;
        if (r == -ENOENT)
            return error_set(error, r, full, "is missing from the trace's directory");
        if (r < 0)
            return error_set(error, r, full, "%s", strerror(-r));
        if (S_ISLNK(st.st_mode))
            return error_set(error, -ELOOP, full,
                             "is a symbolic link, which a trace's directory may not have");
        /* Opening a pipe would wait. */
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
            return error_set(error, -EINVAL, full, "is neither a file nor a directory");
        if (part)
            *part = '/';
    } while (part);
    *ret_path = TAKE_PTR(full);
    return 0;
}
