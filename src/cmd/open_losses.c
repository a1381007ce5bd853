/* SPDX-License-Identifier: MIT */
#include "cmd/open_losses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

void open_losses_done(struct open_losses *losses)
{
    free(losses->items);
    *losses = (struct open_losses){0};
}

static struct open_loss *find(struct open_losses *losses, const struct item *item)
{
    for (unsigned i = 0; i < losses->n; i++)
        if (losses->items[i].origin == item->origin && losses->items[i].cpu == item->cpu)
            return &losses->items[i];
    return NULL;
}

int open_losses_put(struct open_losses *losses, const struct item *item)
{
    struct open_loss *loss = find(losses, item);

    if (loss && item->kind == ITEM_LOSS)
        *loss = losses->items[--losses->n];
    if (!item->before_loss || item->time == TIME_UNKNOWN)
        return 0;
    if (losses->n == losses->room) {
        unsigned room = MAX(losses->room * 2, 8u);
        struct open_loss *more = realloc(losses->items, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        losses->items = more;
        losses->room = room;
    }
    losses->items[losses->n++] =
        (struct open_loss){.origin = item->origin, .cpu = item->cpu, .since = item->time};
    return 0;
}

void open_losses_put_after(struct open_losses *losses, const struct item *item)
{
    struct open_loss *loss = find(losses, item);

    if (loss && item->kind == ITEM_LOSS)
        loss->has_end = true;
}

struct item open_loss_item(const struct open_loss *loss, int64_t time)
{
    return (struct item){
        .kind = ITEM_LOSS,
        .cause = LOSS_DROPPED,
        .time = time,
        .since = loss->since,
        .lost = LOST_UNKNOWN,
        .origin = loss->origin,
        .cpu = loss->cpu,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
    };
}
