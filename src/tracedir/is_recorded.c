/* SPDX-License-Identifier: MIT */
#include "tracedir/is_recorded.h"

#include <stdlib.h>
#include <string.h>

#include "tracedir/ask.h"
#include "tracedir/registry.h"

struct directory_search {
    const char *path;
    pid_t recorder; /* 0 if not found */
};

static int find_directory(const struct registry_recording *recording, void *userdata)
{
    struct directory_search *search = userdata;

    if (strcmp(recording->trace, search->path) != 0)
        return 0;
    search->recorder = recording->pid;
    return 1;
}

bool tracedir_is_recorded(const char *path, const char *runtime_dir, pid_t *ret_recorder)
{
    char *full = realpath(path, NULL);
    struct directory_search search = {.path = full ? full : path};
    struct tracedir_flushing flushing;
    bool is_live;

    (void)registry_foreach(runtime_dir, find_directory, &search);
    free(full);
    is_live = search.recorder > 0;
    if (is_live)
        *ret_recorder = search.recorder;
    else
        is_live = registry_is_recorded_by_other(path);
    /* That of another user is not in the registry, but may answer. */
    if (!is_live && tracedir_flush_begin(&flushing, path) >= 0) {
        is_live = true;
        tracedir_flush_end(&flushing);
    }
    return is_live;
}
