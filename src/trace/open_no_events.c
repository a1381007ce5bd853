/* SPDX-License-Identifier: MIT */
/* A source of a trace directory without events: a virtual machine monitor whose threads are known. It is opened, to be
 * described, if the user asks for its name. */

#include <stdlib.h>

#include "trace/open.h"

static int next(struct source *source, const struct item **ret_items)
{
    (void)source;
    *ret_items = NULL;
    return 0;
}

static void free_source(struct source *source)
{
    free(source);
}

static const struct source_ops ops = {.next = next, .free = free_source};

int open_nothing(struct open_ctx *ctx)
{
    struct source *source = calloc(1, sizeof *source);

    if (!source)
        return -ENOMEM;
    source->ops = &ops;
    source->ordered = true;
    return open_ctx_add(ctx, source);
}

int open_no_events(struct open_ctx *ctx, struct error *error)
{
    const struct origin origin = {
        .layer = LAYER_VMM,
        .format = MANIFEST_NO_EVENTS,
        .path = ctx->path,
        .clock = {"monotonic", NANOSECONDS},
    };

    if (!catalogue_add_origin(&ctx->trace->catalogue, &origin) || open_nothing(ctx) < 0)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    return 0;
}
