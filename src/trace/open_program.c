/* SPDX-License-Identifier: MIT */
/* What programs that link libstrata wrote in its own format. */

#include "format/ctf/ctf.h"
#include "trace/open.h"

int open_ctf_dir(struct open_ctx *ctx, struct error *error)
{
    struct source **sources;
    unsigned n;
    int r;

    r = ctf_open_dir(ctx->path, &ctx->trace->catalogue, &ctx->reader, &sources, &n, error);
    if (r < 0)
        return r;
    open_ctx_set(ctx, sources, n);
    return 0;
}
