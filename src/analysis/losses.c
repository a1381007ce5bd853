/* SPDX-License-Identifier: MIT */
#include "analysis/losses.h"

#include "base/macro.h"

/* A file may claim any number. */
static void add_saturated(uint64_t *sum, uint64_t v)
{
    if (__builtin_add_overflow(*sum, v, sum))
        *sum = UINT64_MAX;
}

void losses_add(struct losses *losses, const struct item *loss)
{
    losses->n++;
    if (loss->cause == LOSS_UNREADABLE) {
        losses->damaged++;
        losses->skipped += loss->skipped;
    }
    if (loss->lost == LOST_UNKNOWN) {
        losses->uncounted++;
        return;
    }
    add_saturated(&losses->events, loss->lost);
    if (loss->cpu >= 0 && loss->cpu < LOSSES_CPUS) {
        add_saturated(&losses->by_cpu[loss->cpu], loss->lost);
        losses->n_cpus = MAX(losses->n_cpus, loss->cpu + 1);
    }
}

void losses_add_all(struct losses *losses, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (unlikely(items[i].kind != ITEM_EVENT))
            losses_add(losses, &items[i]);
}

void layer_losses_add_all(struct layer_losses *losses, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (unlikely(items[i].kind != ITEM_EVENT))
            losses_add(&losses->losses[items[i].origin->layer], &items[i]);
}
