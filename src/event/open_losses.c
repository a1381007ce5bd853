/* SPDX-License-Identifier: MIT */
#include "event/open_losses.h"

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

static int put(struct open_losses *losses, const struct item *item)
{
    struct open_loss *loss = losses->n > 0 ? find(losses, item) : NULL;

    /* An event of its CPU that comes before the loss shows that seeking has passed over it. */
    if (loss && (item->kind == ITEM_LOSS || item->cpu != CPU_UNKNOWN))
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

/* ITEM is after what is read: if it is a loss, it has begun there. */
static void put_after(struct open_losses *losses, const struct item *item)
{
    struct open_loss *loss = find(losses, item);

    if (loss && item->kind == ITEM_LOSS)
        loss->has_end = true;
}

int open_losses_put(struct open_losses *losses, const struct selection *selection,
                    const struct item *items, unsigned n)
{
    const struct select_options *options = selection->options;
    int r = 0;

    if (likely(!options->from.given && !options->to.given && !options->limited))
        return 0;
    for (unsigned i = 0; i < n && r == 0; i++) {
        if (likely(items[i].kind == ITEM_EVENT && !items[i].before_loss && losses->n == 0))
            continue;
        if (!selection->started || items[i].time < selection->to)
            r = put(losses, &items[i]);
        else
            put_after(losses, &items[i]);
    }
    return r;
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

struct item open_loss_begin(const struct open_loss *loss)
{
    return (struct item){
        .kind = ITEM_EVENT,
        .before_loss = true,
        .time = loss->since,
        .origin = loss->origin,
        .cpu = loss->cpu,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
    };
}

bool open_losses_take(struct open_losses *losses, struct selection *selection, int64_t end,
                      struct item *ret)
{
    while (losses->n > 0) {
        const struct open_loss open = losses->items[--losses->n];

        *ret = open_loss_item(&open, end);
        /* Where the trace ends before, all of it was read. */
        if ((open.has_end || selection_is_over(selection)) && open.since < end &&
            selection_has_loss_after(selection, ret))
            return true;
    }
    return false;
}
