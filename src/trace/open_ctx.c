/* SPDX-License-Identifier: MIT */
#include "trace/open.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline/clock_map.h"

static int add_note(struct trace *trace, const char *format, va_list args)
{
    const char **bigger = realloc(trace->notes, (trace->n_notes + 1) * sizeof *trace->notes);
    _cleanup_free_ char *note = NULL;

    if (!bigger)
        return -ENOMEM;
    trace->notes = bigger;
    if (vasprintf(&note, format, args) < 0) {
        note = NULL;
        return -ENOMEM;
    }
    trace->notes[trace->n_notes] = arena_strdup(&trace->catalogue.arena, note);
    return trace->notes[trace->n_notes++] ? 0 : -ENOMEM;
}

int trace_note(struct trace *trace, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = add_note(trace, format, args);
    va_end(args);
    return r;
}

int trace_note_missing(struct trace *trace, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = add_note(trace, format, args);
    va_end(args);
    if (r < 0)
        return r;
    trace->n_missing++;
    trace->missing = trace->notes[trace->n_notes - 1];
    return 0;
}

void trace_set_duration_error(struct trace *trace, const struct trace_input *input)
{
    for (unsigned i = 0; i < input->n_origins; i++) {
        struct origin *origin = trace->catalogue.origins[input->first_origin + i];

        origin->rate_error = input->clock_map->duration_error;
        origin->duration_error_ns =
            (uint32_t)MIN(2 * input->clock_map->extra_ns, (int64_t)UINT32_MAX);
    }
}

int open_ctx_add(struct open_ctx *ctx, struct source *source)
{
    struct source **bigger = realloc(ctx->sources, (ctx->n_sources + 1) * sizeof *ctx->sources);

    if (!bigger) {
        source_free(source);
        return -ENOMEM;
    }
    ctx->sources = bigger;
    ctx->sources[ctx->n_sources++] = source;
    return 0;
}

void open_ctx_set(struct open_ctx *ctx, struct source **sources, unsigned n)
{
    ctx->sources = sources;
    ctx->n_sources = n;
}

int open_ctxs_append(struct open_ctx **ctxs, unsigned *n, const struct open_ctx *ctx)
{
    struct open_ctx *bigger = realloc(*ctxs, (*n + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    *ctxs = bigger;
    bigger[(*n)++] = *ctx;
    return 0;
}
