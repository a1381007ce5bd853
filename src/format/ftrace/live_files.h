/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the files of a tracefs tree that are passed in while a kernel is traced (format/ftrace/live.h), in the form
 * that struct kernel_events requires. */

#include "base/arena.h"
#include "base/map.h"
#include "schema/kernel/events.h"

#define LIVE_FILES_MAX 65536u

struct live_file {
    char *path, *text;
    size_t len;
    const char *system; /* of a format; in the arena */
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
/* Returns NULL if the file was not passed in. */
const struct live_file *live_files_find(const struct live_files *files, const char *path);
/* True if the files stay within FTRACE_LIVE_FILES_MAX bytes with LEN bytes as the new content of PATH. */
bool live_files_has_room(const struct live_files *files, const char *path, size_t len);
/* Sets or replaces the file PATH. *TEXT (malloc, LEN bytes and a NUL) is NULL once it is kept, even after an error.
 * -E2BIG: too many files, or PATH is too long; -ENOMEM. */
int live_files_put(struct live_files *files, const char *path, char **text, size_t len);
/* Returns the format of any event; false: no format was passed in. */
bool live_files_any_format(const struct live_files *files, struct kernel_format *ret);
