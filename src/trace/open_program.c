/* SPDX-License-Identifier: MIT */
/* Opens traces in CTF by programs that link libstrata, and by other tracers. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/ctf/ctf.h"
#include "trace/left_out.h"
#include "trace/open.h"

/* True if FILE of the manifest is the file NAME in the directory of CTX's source. NAME NULL: any file in the
 * directory. */
static bool is_file(const struct open_ctx *ctx, const struct manifest_file *file, const char *name)
{
    size_t len = strlen(ctx->recorded->path);

    return strncmp(file->path, ctx->recorded->path, len) == 0 && file->path[len] == '/' &&
           (!name || strcmp(file->path + len + 1, name) == 0);
}

/* True if the stream PATH has only a part of what was recorded. Then it has a loss from its end on. */
static bool is_stream_cut(const void *arg, const char *path)
{
    const struct open_ctx *ctx = arg;
    const char *name = strrchr(path, '/');
    uint64_t bytes;

    for (unsigned i = 0; name && i < ctx->recorded->n_files; i++)
        if (is_file(ctx, &ctx->recorded->files[i], name + 1))
            return recorded_file_is_cut(ctx, &ctx->recorded->files[i], NULL, &bytes) && bytes > 0;
    return false;
}

/* True if a stream or a part of the metadata is missing. Then events may be missing at any time. */
static bool lacks_stream(const struct open_ctx *ctx)
{
    bool lacks = false;
    uint64_t bytes;

    for (unsigned i = 0; i < ctx->recorded->n_files && !lacks; i++) {
        const struct manifest_file *file = &ctx->recorded->files[i];

        lacks = is_file(ctx, file, NULL) && recorded_file_is_cut(ctx, file, NULL, &bytes) &&
                (bytes == 0 || is_file(ctx, file, "metadata"));
    }
    return lacks;
}

/* Finds what perf was told to leave out of a trace that it converted, by reading the trace once more. -ENOMEM. */
static int find_left_out(const struct open_ctx *ctx, const char *const *dirs,
                         const struct reader_options *options, struct left_out *ret)
{
    struct catalogue catalogue = {0};
    struct source **sources = NULL;
    struct error error = {0};
    unsigned n = 0;
    int r;

    r = ctf_open_dirs(dirs, MAX(ctx->n_dirs, 1u), &catalogue, options, &sources, &n, &error);
    return left_out_find_in(r, sources, n, &catalogue, ret);
}

int open_ctf_dir(struct open_ctx *ctx, struct error *error)
{
    unsigned first_origin = ctx->trace->catalogue.n_origins;
    struct left_out left_out = {0};
    const char *const *dirs = ctx->n_dirs ? ctx->dirs : &ctx->path;
    struct reader_options options = ctx->reader;
    struct source **sources;
    unsigned n;
    int r;

    if (ctx->recorded && ctx->recorded->n_files > 0) {
        options.passes_over = true;
        options.is_cut = is_stream_cut;
        options.is_cut_arg = ctx;
    }
    r = ctf_open_dirs(dirs, MAX(ctx->n_dirs, 1u), &ctx->trace->catalogue, &options, &sources, &n,
                      error);
    if (r < 0)
        return r;
    open_ctx_set(ctx, sources, n);
    if (!ctx->recorded && ctx->trace->catalogue.n_origins == first_origin + 1) {
        struct origin *origin = ctx->trace->catalogue.origins[first_origin];

        /* Of perf (format/ctf/trace.c). */
        if (origin->lost_uncounted && find_left_out(ctx, dirs, &options, &left_out) < 0)
            return error_set(error, -ENOMEM, NULL, "out of memory");
        if (ctf_is_of_perf(origin))
            known_bounds_set(origin, &left_out);
        if (known_threads_note(ctx, first_origin, &left_out) < 0 ||
            known_cpus_note(ctx, &left_out.cpus) < 0 ||
            known_cpus_lose(ctx, origin, &left_out.cpus, left_out.first) < 0)
            return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    if (!ctx->recorded || !ctx->is_cut || !lacks_stream(ctx))
        return 0;
    r = open_nothing(ctx);
    return r < 0 ? error_set(error, r, NULL, "out of memory") : recorded_cut_add(ctx);
}
