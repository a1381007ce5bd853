/* SPDX-License-Identifier: MIT */
#include "report/recording_status.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/printable.h"
#include "base/text.h"

/* The size of a file without its released beginning, which is a hole. */
static uint64_t kept_size(const struct stat *st)
{
    return (uint64_t)MIN(st->st_size, (off_t)st->st_blocks * 512);
}

/* The size of all files below FD, not deeper than a source's directories. */
static uint64_t size_below(int fd, unsigned depth)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(fd, ".");
    const struct dirent *entry;
    uint64_t size = 0;

    while (dir && (entry = readdir(dir))) {
        _cleanup_(closep) int sub = -1;
        struct stat st;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(st.st_mode))
            size += kept_size(&st);
        if (!S_ISDIR(st.st_mode) || depth == 0)
            continue;
        sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0)
            size += size_below(sub, depth - 1);
    }
    return size;
}

static uint64_t size_of(const char *directory, const char *path)
{
    _cleanup_free_ char *full = NULL;
    _cleanup_(closep) int fd = -1;
    struct stat st;

    if (manifest_resolve(directory, path, &full, NULL) < 0 || stat(full, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return kept_size(&st);
    fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? 0 : size_below(fd, 4);
}

/* True for a guest whose agent has not said which kernel it runs. */
static bool is_unanswered(const struct manifest_source *source)
{
    return source->guest && !source->guest->agent;
}

static bool is_away(const struct manifest_source *source)
{
    return source->guest && source->guest->is_away;
}

static const char *state_of(const struct manifest_source *source, bool is_recorded)
{
    if (manifest_source_has_ended(source))
        return "has ended";
    return !is_recorded            ? "the recorder was killed"
           : is_unanswered(source) ? "no agent has answered"
           : is_away(source)       ? "no agent answers any more"
                                   : "is recorded";
}

int print_recording_status(const char *directory, const struct manifest *manifest, bool is_recorded,
                           enum table_format format, struct text *out)
{
    enum { SOURCE, LAYER, SIZE, BYTES, STATE, RECORDING, PROBLEMS };
    static const struct table_column columns[] = {
        [SOURCE] = {"SOURCE", -18, "source"},
        [LAYER] = {"LAYER", -12, "layer"},
        [SIZE] = {"SIZE", 10},
        [BYTES] = {.name = "bytes"},
        [STATE] = {"STATE"},
        [RECORDING] = {.name = "recording"},
        [PROBLEMS] = {.name = "problems"},
    };
    static const struct table_form form = {columns, ARRAY_SIZE(columns)};
    struct table table;

    table_begin(&table, out, format, &form);
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];
        uint64_t bytes = size_of(directory, source->path);
        char size[16];

        table_str(&table, SOURCE, source->name);
        table_str(&table, LAYER, source->layer);
        table_str(&table, SIZE, bytes_text(size, sizeof size, bytes));
        table_u64(&table, BYTES, bytes);
        table_str(&table, STATE, state_of(source, is_recorded));
        table_bool(&table, RECORDING,
                   !manifest_source_has_ended(source) && is_recorded && !is_unanswered(source) &&
                       !is_away(source));
        table_list(&table, PROBLEMS);
        for (unsigned j = 0; j < source->n_problems; j++)
            table_list_add(&table, source->problems[j]);
        table_end_row(&table);
        for (unsigned j = 0; j < source->n_problems && format == TABLE_TEXT; j++) {
            text_printf_safe(out, "  %s", source->problems[j]);
            text_put_char(out, '\n');
        }
    }
    return table_end(&table);
}
