/* SPDX-License-Identifier: MIT */
#include "report/trace_view.h"

#include "tracedir/manifest.h"

unsigned trace_view_input_of(void *arg, const struct origin *origin)
{
    return trace_input_of(arg, origin);
}

/* Returns the names of TRACE's inputs, by number, if they are sources of one trace directory. Otherwise, or if out of
 * memory, returns NULL with 0 names. */
static const char *const *get_input_names(struct trace *trace, unsigned *ret_n)
{
    const char **names =
        arena_alloc(&trace->catalogue.arena, (trace->n_inputs + 1) * sizeof *names);

    *ret_n = 0;
    for (unsigned i = 0; names && i < trace->n_inputs; i++) {
        if (trace->n_manifests != 1 || !trace->inputs[i].recorded)
            return NULL;
        names[i] = trace->inputs[i].recorded->name;
    }
    *ret_n = names ? trace->n_inputs : 0;
    return names;
}

struct view_options trace_view_options(struct trace *trace)
{
    struct view_options options = {
        .origin_number = trace_needs_numbers(trace) ? trace_view_input_of : NULL,
        .origin_arg = trace,
        .errors = trace_has_errors(trace),
        .layers = trace_layers(trace),
    };

    options.input_names = get_input_names(trace, &options.n_input_names);
    return options;
}
