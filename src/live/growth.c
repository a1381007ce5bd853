/* SPDX-License-Identifier: MIT */
#include "live/growth.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hash.h"
#include "tracedir/manifest.h"

/* Grows while a guest is recorded, with or without events. */
#define CLOCK_PAIRS "clock-pairs"

struct live_growth {
    char *dir;
    struct manifest manifest; /* as last read */
    bool has_manifest;
    uint64_t manifest_state;
    uint64_t state; /* of all files; 0 if unknown */
};

static uint64_t mix_stat(uint64_t hash, const struct stat *st)
{
    hash = hash_mix(hash, (uint64_t)st->st_ino);
    hash = hash_mix(hash, (uint64_t)st->st_size);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_sec);
    return hash_mix(hash, (uint64_t)st->st_mtim.tv_nsec);
}

/* Reads the manifest if it has changed. False if it cannot be read. */
static bool read_manifest(struct live_growth *growth, int dir)
{
    struct stat st;
    uint64_t state;

    if (fstatat(dir, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    state = mix_stat(1, &st);
    if (growth->has_manifest && state == growth->manifest_state)
        return true;
    if (growth->has_manifest)
        manifest_done(&growth->manifest);
    growth->has_manifest = manifest_read(growth->dir, &growth->manifest, NULL) >= 0;
    growth->manifest_state = state;
    return growth->has_manifest;
}

/* Mixes in the regular files directly in the directory PATH in DIR, or PATH itself. */
static uint64_t mix_files(uint64_t hash, int dir, const char *path)
{
    _cleanup_(closedirp) DIR *files = open_dir_at(dir, path);
    const struct dirent *entry;
    struct stat st;

    if (!files)
        return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? hash : mix_stat(hash, &st);
    while ((entry = readdir(files)))
        if (strcmp(entry->d_name, CLOCK_PAIRS) != 0 &&
            fstatat(dirfd(files), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            /* The order of the entries is the file system's. */
            hash += mix_stat(hash_bytes(entry->d_name, strlen(entry->d_name)), &st);
    return hash;
}

int live_growth_new(const char *dir, struct live_growth **ret)
{
    struct live_growth *growth = calloc(1, sizeof *growth);

    if (growth)
        growth->dir = strdup(dir);
    if (!growth || !growth->dir) {
        free(growth);
        return -ENOMEM;
    }
    *ret = growth;
    return 0;
}

void live_growth_free(struct live_growth *growth)
{
    if (!growth)
        return;
    if (growth->has_manifest)
        manifest_done(&growth->manifest);
    free(growth->dir);
    free(growth);
}

bool live_growth_check(struct live_growth *growth)
{
    _cleanup_(closep) int dir = open(growth->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    uint64_t before = growth->state, state = 1;

    growth->state = 0;
    if (dir < 0 || !read_manifest(growth, dir))
        return true;
    for (unsigned i = 0; i < growth->manifest.n_sources; i++)
        state = mix_files(hash_mix(state, i), dir, growth->manifest.sources[i].path);
    growth->state = state;
    return state != before;
}
