/* SPDX-License-Identifier: MIT */
/* Finds files of a trace directory that are missing, or shorter than the recorder wrote them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/open.h"

/* True if FILE is missing, or is something that a reader may skip: a dangling link, a directory, a pipe. */
static bool is_missing(const struct open_ctx *ctx, const struct manifest_file *file)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;

    if (asprintf(&path, "%s/%s", ctx->given, file->path) < 0) {
        path = NULL;
        return false;
    }
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
    return !S_ISREG(st.st_mode);
}

bool recorded_file_is_cut(const struct open_ctx *ctx, const struct manifest_file *file,
                          bool *ret_is_missing, uint64_t *ret_bytes)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;
    bool missing = is_missing(ctx, file);
    /* Another error than that it is missing is reported when it is opened. */
    bool is_known = missing || (manifest_resolve(ctx->given, file->path, &path, NULL) >= 0 &&
                                stat(path, &st) == 0);
    uint64_t bytes = missing || !is_known ? 0 : (uint64_t)st.st_size;

    if (ret_is_missing)
        *ret_is_missing = missing;
    if (ret_bytes)
        *ret_bytes = bytes;
    return is_known && bytes < file->bytes;
}

/* True if FILE has events, and does not only describe them. */
static bool has_events(const struct manifest_source *source, const struct manifest_file *file)
{
    size_t len = strlen(source->path);

    return strncmp(file->path, source->path, len) == 0 &&
           (file->path[len] == '\0' || file->path[len] == '/') &&
           (!source->clock.pairs || strcmp(file->path, source->clock.pairs) != 0);
}

static int note(int (*add)(struct trace *, const char *, ...), struct open_ctx *ctx,
                const struct manifest_file *file, bool is_missing, uint64_t bytes)
{
    if (bytes > 0)
        return add(ctx->trace,
                   "%s/%s: has %" PRIu64 " of the %" PRIu64
                   " bytes that the recorder wrote; the rest is lost",
                   ctx->given, file->path, bytes, file->bytes);
    return add(ctx->trace, "%s/%s: is %s; the %" PRIu64 " bytes that the recorder wrote are lost",
               ctx->given, file->path, is_missing ? "missing" : "empty", file->bytes);
}

int recorded_files_check(struct open_ctx *ctx, bool keep_going)
{
    const struct manifest_source *source = ctx->recorded;
    int r = 0;

    for (unsigned i = 0; i < source->n_files && r >= 0; i++) {
        const struct manifest_file *file = &source->files[i];
        bool is_missing;
        uint64_t bytes;

        if (!recorded_file_is_cut(ctx, file, &is_missing, &bytes))
            continue;
        ctx->is_cut |= has_events(source, file);
        /* Whatever is selected: the loss is at the end of what is left, and so is not in what follows. */
        ctx->trace->lost_uncounted |= ctx->is_cut;
        r = note(keep_going ? trace_note : trace_note_missing, ctx, file, is_missing, bytes);
    }
    return r;
}
