/* SPDX-License-Identifier: MIT */
/* Opens the contents of Xen's trace buffers. */

#include <string.h>

#include "format/xentrace/xentrace.h"
#include "schema/xen/user_events.h"
#include "trace/open.h"

/* Adds the files that were recorded with the trace. If one is missing, the events are still worth showing. */
static int add_recorded(struct xen_table *table, const struct open_ctx *ctx)
{
    const struct manifest_source *recorded = ctx->recorded;
    int r = 0;

    for (unsigned i = 0; recorded && i < recorded->n_events && !error_is_shortage(r); i++) {
        _cleanup_free_ char *path = NULL;
        struct error error;
        char why[1024];

        error_clear(&error);
        r = manifest_resolve(ctx->given, recorded->events[i], &path, &error);
        if (r >= 0)
            r = xen_user_events_read(table, path, &error);
        if (r >= 0 || error_is_shortage(r))
            continue;
        error_print(&error, why, sizeof why);
        r = trace_note_missing(ctx->trace, "%s, which declares events of '%s', is left out: %s",
                               recorded->events[i], recorded->name, why);
    }
    return error_is_shortage(r) ? r : 0;
}

static int keep_table(struct trace *trace, struct xen_table *table)
{
    struct xen_table **bigger =
        realloc(trace->xen_tables, (trace->n_xen_tables + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    trace->xen_tables = bigger;
    bigger[trace->n_xen_tables++] = table;
    return 0;
}

/* Gets the built-in table, extended by the recorded files and then by the user's. The trace keeps it. NULL if there are
 * no such files. */
static int get_table(const struct open_ctx *ctx, const struct xen_table **ret_table,
                     struct error *error)
{
    const struct trace_options *options = ctx->options;
    struct xen_table *table;
    int r;

    if (options->n_events == 0 && !(ctx->recorded && ctx->recorded->n_events))
        return 0;
    table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    r = keep_table(ctx->trace, table);
    if (r < 0) {
        free(table);
        return r;
    }
    r = xen_table_built_in(table, error);
    if (r >= 0)
        r = add_recorded(table, ctx);
    for (unsigned i = 0; i < options->n_events && r >= 0; i++)
        r = xen_user_events_read(table, options->events[i], error);
    if (r >= 0)
        *ret_table = table;
    return r;
}

/* Values that the user gives take precedence over recorded values. */
static int get_host(const struct open_ctx *ctx, struct xentrace_options *xen, struct error *error)
{
    const struct trace_options *options = ctx->options;
    const struct manifest_source *recorded = ctx->recorded;
    const struct manifest_xen *host = recorded ? recorded->xen : NULL;
    const char *vendor = options->cpu_vendor;

    xen->cpu_hz = options->cpu_hz ? options->cpu_hz : recorded ? recorded->clock.hz : 0;
    if (!vendor && host)
        vendor = host->cpu_vendor;
    if (vendor)
        xen->cpu = xen_cpu_parse(vendor);
    if (options->cpu_vendor && xen->cpu == XEN_CPU_UNKNOWN)
        return error_set(error, -EINVAL, NULL, "invalid CPU vendor '%s' (examples: amd, intel)",
                         vendor);
    if (options->xen_version) {
        xen->version = xen_version_parse(options->xen_version, strlen(options->xen_version));
        if (xen->version == 0)
            return error_set(error, -EINVAL, NULL,
                             "invalid Xen version '%s' (examples: 4.17, 4.22)",
                             options->xen_version);
    } else if (host && host->version) {
        xen->version = xen_version_parse(host->version, strlen(host->version));
    }
    xen->lost_at_end = recorded ? recorded->lost_at_end : 0;
    xen->unfinished = recorded && !recorded->complete;
    return 0;
}

int open_xentrace(struct open_ctx *ctx, struct error *error)
{
    struct xentrace_options xen = {.reader = ctx->options->reader, .cache = ctx->options->cache};
    struct cpu_set recorded, missing = {0};
    struct source **sources;
    unsigned n;
    int r;

    known_cpus_recorded(ctx, &recorded);
    xen.recorded = &recorded;
    r = get_host(ctx, &xen, error);
    if (r >= 0)
        r = get_table(ctx, &xen.table, error);
    if (r < 0)
        return r;
    r = xentrace_open(&ctx->input, &xen, &ctx->trace->catalogue, &sources, &n, error);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < n; i++)
        if (xentrace_source_is_missing(sources[i]))
            cpu_set_add(&missing, xentrace_source_cpu(sources[i]));
    open_ctx_set(ctx, sources, n);
    ctx->per_cpu = true;
    return known_cpus_note(ctx, &missing);
}
