/* SPDX-License-Identifier: MIT */
#include "trace/late_losses.h"

int late_losses_find(const struct trace *trace, const struct selection *selection,
                     struct open_losses *losses)
{
    int r = 0;

    if (!selection_is_part(selection) || trace->n_pipes > 0)
        return 0;
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];
        bool is_late = false;

        for (unsigned j = 0; j < input->n_sources; j++)
            is_late |= input->sources[j]->tells_losses_late;
        for (unsigned j = 0; j < input->n_origins && is_late && r == 0; j++)
            r = open_losses_add_late(losses, trace->catalogue.origins[input->first_origin + j]);
    }
    return r;
}

int late_losses_read(struct trace *trace, const struct selection *selection,
                     struct open_losses *losses)
{
    const struct item *items;
    int r = 0;

    while (r == 0 && selection_is_over(selection) && open_losses_wait(losses)) {
        int n = trace_next(trace, &items);

        if (n <= 0)
            return n;
        r = open_losses_put(losses, selection, items, (unsigned)n, selection->left == 0);
    }
    return r;
}
