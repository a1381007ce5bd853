/* SPDX-License-Identifier: MIT */
/* What Xen's trace buffers held. */

#include <string.h>

#include "format/xentrace.h"
#include "trace/open.h"

/* The built-in table with the user's files on top; kept by the trace. */
static int get_table(struct trace *trace, const struct trace_options *options,
                     const struct xen_table **ret_table, struct fault *fault)
{
    struct xen_table *table;
    int r;

    if (!trace->xen_table && options->n_events > 0) {
        table = calloc(1, sizeof *table);
        if (!table)
            return -ENOMEM;
        r = xen_table_built_in(table, fault);
        for (unsigned i = 0; i < options->n_events && r >= 0; i++)
            r = xen_table_read(table, options->events[i], fault);
        if (r < 0) {
            xen_table_done(table);
            free(table);
            return r;
        }
        trace->xen_table = table;
    }
    *ret_table = trace->xen_table;
    return 0;
}

int open_xentrace(struct opening *opening, struct fault *fault)
{
    const struct trace_options *options = opening->options;
    struct xentrace_options xen = {.reader = options->reader, .cpu_hz = options->cpu_hz};
    struct source **sources;
    unsigned n;
    int r;

    if (options->xen_version) {
        xen.version = xen_version_parse(options->xen_version, strlen(options->xen_version));
        if (xen.version == 0)
            return fault_plain(fault, -EINVAL, NULL, "'%s' is not a version of Xen, like 4.17",
                               options->xen_version);
    }
    r = get_table(opening->trace, options, &xen.table, fault);
    if (r < 0)
        return r;
    r = xentrace_open(&opening->input, &xen, &opening->trace->catalogue, &sources, &n, fault);
    if (r < 0)
        return r;
    opening_set(opening, sources, n);
    opening->per_cpu = true;
    return 0;
}
