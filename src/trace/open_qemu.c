/* SPDX-License-Identifier: MIT */
/* Opens what QEMU's trace backends wrote. */

#include <string.h>

#include "format/qemu_log/qemu_log.h"
#include "format/simpletrace/simpletrace.h"
#include "trace/open.h"

/* Gets the declarations that were recorded with CTX. NULL if there are none; if they cannot be read, adds a note.
 * Declarations that the user names take precedence. */
static int get_recorded(const struct open_ctx *ctx, const struct qemu_events **ret_events)
{
    const struct manifest_source *recorded = ctx->recorded;
    struct trace *trace = ctx->trace;
    struct events_files *files;
    struct error error;
    char why[1024];
    int r = 0;

    if (!recorded || recorded->n_events == 0 || ctx->options->n_events > 0)
        return 0;
    files = calloc(1, sizeof *files);
    if (!files)
        return -ENOMEM;
    error_clear(&error);
    for (unsigned i = 0; i < recorded->n_events && r >= 0; i++) {
        _cleanup_free_ char *path = NULL;

        r = manifest_resolve(ctx->given, recorded->events[i], &path, &error);
        if (r >= 0)
            r = events_files_add(files, path, &error);
    }
    if (r >= 0)
        r = events_files_finish(files, &error);
    if (r < 0) {
        events_files_done(files);
        free(files);
        if (error_is_shortage(r))
            return r;
        error_print(&error, why, sizeof why);
        return trace_note_missing(trace, "what declares the events of '%s' is left out: %s",
                                  recorded->name, why);
    }
    files->next = trace->events->next;
    trace->events->next = files;
    *ret_events = &files->events;
    return 0;
}

/* Gets the declarations for CTX. */
static int get_events(const struct open_ctx *ctx, bool needed,
                      const struct qemu_events **ret_events, struct error *error)
{
    const struct qemu_events *events = NULL;
    int r = get_recorded(ctx, &events);

    if (r < 0)
        return error_set(error, r, NULL, "%s", error_text(r));
    if (!events)
        return events_files_get(ctx->trace->events, ctx->options, needed, ctx->path, ret_events,
                                error);
    *ret_events = events;
    return 0;
}

int open_simpletrace(struct open_ctx *ctx, struct error *error)
{
    struct trace *trace = ctx->trace;
    struct simpletrace_options options = {.no_header = ctx->options->no_header,
                                          .reader = ctx->reader};
    const struct input *in = &ctx->input;
    struct source *source;
    bool needed;
    int r;

    /* Version 4 contains the names of event numbers; older versions contain only the numbers. */
    needed = options.no_header || simpletrace_is_old(input_at(in), input_buffered(in));
    r = get_events(ctx, needed, &options.events, error);
    if (r < 0)
        return r;
    if (!options.events)
        trace->hint = "no trace-events declarations found, so arguments show as raw words; give "
                      "the trace-events-all of the QEMU that wrote the trace with --trace-events";
    r = simpletrace_open(&ctx->input, &trace->catalogue, &options, &source, error);
    return r < 0 ? r : open_ctx_add(ctx, source);
}

int open_qemu_log(struct open_ctx *ctx, struct error *error)
{
    struct trace *trace = ctx->trace;
    const struct qemu_events *events;
    struct source *source;
    int r;

    r = get_events(ctx, false, &events, error);
    if (r < 0)
        return r;
    if (!events)
        trace->hint =
            "no trace-events declarations found, so events have no fields but their text; give the "
            "trace-events-all of the QEMU that wrote the log with --trace-events";
    r = qemu_log_open(&ctx->input, &trace->catalogue, events, &source, error);
    if (r < 0)
        return r;
    if (ctx->recorded)
        qemu_log_set_lost(source, ctx->recorded->lost_at_end);
    if (ctx->is_cut)
        qemu_log_set_cut(source);
    return open_ctx_add(ctx, source);
}
