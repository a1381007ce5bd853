/* SPDX-License-Identifier: MIT */
/* Traces in CTF: what programs that link libstrata wrote, and other tracers'. */

#include "format/ctf/ctf.h"
#include "trace/open.h"

int open_ctf_dir(struct open_ctx *ctx, struct error *error)
{
    const char *const *dirs = ctx->n_dirs ? ctx->dirs : &ctx->path;
    struct reader_options options = ctx->reader;
    struct source **sources;
    unsigned n;
    int r;

    options.passes_over = ctx->recorded && ctx->recorded->n_files > 0;
    r = ctf_open_dirs(dirs, MAX(ctx->n_dirs, 1u), &ctx->trace->catalogue, &options, &sources, &n,
                      error);
    if (r < 0)
        return r;
    open_ctx_set(ctx, sources, n);
    return 0;
}
