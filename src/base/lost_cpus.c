/* SPDX-License-Identifier: MIT */
#include "base/lost_cpus.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"

static int compare_events(const void *a, const void *b)
{
    const struct lost_cpu *x = a;
    const struct lost_cpu *y = b;

    if (x->events != y->events)
        return x->events < y->events ? 1 : -1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int compare_cpus(const void *a, const void *b)
{
    const struct lost_cpu *x = a;
    const struct lost_cpu *y = b;

    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

void lost_cpus_add(struct lost_cpus *lost, unsigned cpu, uint64_t events)
{
    const struct lost_cpu added = {cpu, events};
    unsigned least = 0;

    if (events == 0)
        return;
    lost->n++;
    if (lost->n_kept < LOST_CPUS_ALL) {
        lost->kept[lost->n_kept++] = added;
        return;
    }
    for (unsigned i = 1; i < LOST_CPUS_ALL; i++)
        if (compare_events(&lost->kept[i], &lost->kept[least]) > 0)
            least = i;
    if (compare_events(&added, &lost->kept[least]) < 0)
        lost->kept[least] = added;
}

void lost_cpus_put(struct lost_cpus *lost, struct text *text)
{
    bool is_all = lost->n == lost->n_kept;
    unsigned n = is_all ? lost->n : LOST_CPUS_WORST;

    qsort(lost->kept, lost->n_kept, sizeof *lost->kept, is_all ? compare_cpus : compare_events);
    for (unsigned i = 0; i < n; i++)
        text_printf(text, "%sCPU %u: %" PRIu64, i ? ", " : "", lost->kept[i].cpu,
                    lost->kept[i].events);
    if (!is_all)
        text_printf(text, ", and %u more CPUs", lost->n - n);
}
