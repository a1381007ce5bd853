/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of a tracefs tree that are handed over while a kernel is traced (format/ftrace/live.h), as struct
 * kernel_events requires them. */

#include "base/arena.h"
#include "base/map.h"
#include "schema/kernel/events.h"

#define LIVE_FILES_MAX 65536u

struct live_file {
    char *path, *text;
    size_t len;
    const char *system; /* of a format: in the arena */
};

struct live_files {
    struct kernel_formats formats;
    struct live_file *files[LIVE_FILES_MAX];
    unsigned n_files;
    size_t bytes;
    struct map by_path, by_id; /* of struct live_file */
    struct arena arena;
};

/* NULL: out of memory. files->formats.free() frees it. */
struct live_files *live_files_new(void);
/* NULL: it was not handed over. */
const struct live_file *live_files_find(const struct live_files *files, const char *path);
/* Whether LEN bytes at PATH, in place of what is there, are within FTRACE_LIVE_FILES_MAX together. */
bool live_files_has_room(const struct live_files *files, const char *path, size_t len);
/* Sets or replaces the file PATH; *TEXT (from malloc, LEN bytes and a NUL) is NULL once it is kept, also after an error.
 * -E2BIG: there are too many files, or PATH is too long; -ENOMEM. */
int live_files_put(struct live_files *files, const char *path, char **text, size_t len);
/* The format of one of the events; false: none was handed over. */
bool live_files_any_format(const struct live_files *files, struct kernel_format *ret);
