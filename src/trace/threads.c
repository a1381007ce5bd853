/* SPDX-License-Identifier: MIT */
/* Names the threads of a virtual machine monitor by the recorder's list, if the monitor's records do not name them. */

#include <stdlib.h>

#include "trace/open.h"

struct thread_names {
    unsigned n;
    struct manifest_thread threads[]; /* ascending, each with a name */
};

static int compare(const void *a, const void *b)
{
    const struct manifest_thread *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static const char *name_of(const struct origin *origin, int32_t pid)
{
    const struct thread_names *names = origin->thread_names;
    const struct manifest_thread key = {.id = pid};
    const struct manifest_thread *found =
        bsearch(&key, names->threads, names->n, sizeof *names->threads, compare);

    return found ? found->name : NULL;
}

int threads_name(struct trace *trace, const struct trace_input *input)
{
    const struct manifest_vmm *vmm = input->recorded ? input->recorded->vmm : NULL;
    struct thread_names *names;

    if (!vmm || vmm->n_threads == 0 || input->origin->layer != LAYER_VMM)
        return 0;
    names = arena_alloc(&trace->catalogue.arena,
                        sizeof *names + vmm->n_threads * sizeof *names->threads);
    if (!names)
        return -ENOMEM;
    names->n = 0;
    for (unsigned i = 0; i < vmm->n_threads; i++)
        if (vmm->threads[i].name && *vmm->threads[i].name) {
            names->threads[names->n] = vmm->threads[i];
            names->threads[names->n++].id = manifest_thread_own_id(&vmm->threads[i]);
        }
    qsort(names->threads, names->n, sizeof *names->threads, compare);
    for (unsigned i = 0; i < input->n_origins; i++) {
        struct origin *origin = trace->catalogue.origins[input->first_origin + i];

        if (origin->task_name)
            continue;
        origin->task_name = name_of;
        origin->thread_names = names;
    }
    return 0;
}
