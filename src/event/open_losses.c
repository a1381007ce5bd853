/* SPDX-License-Identifier: MIT */
#include "event/open_losses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

void open_losses_done(struct open_losses *losses)
{
    free(losses->items);
    free(losses->late);
    *losses = (struct open_losses){0};
}

int open_losses_add_late(struct open_losses *losses, const struct origin *origin)
{
    struct late_cpus *late = realloc(losses->late, (losses->n_late + 1) * sizeof *late);

    if (!late)
        return -ENOMEM;
    losses->late = late;
    late += losses->n_late++;
    *late = (struct late_cpus){.origin = origin};
    for (unsigned i = 0; i < MIN(origin->n_cpus, CPU_SET_MAX); i++)
        cpu_set_add(&late->waiting, i);
    return 0;
}

bool open_losses_wait(const struct open_losses *losses)
{
    for (unsigned i = 0; i < losses->n_late; i++)
        if (cpu_set_next(&losses->late[i].waiting, 0) < CPU_SET_MAX)
            return true;
    return false;
}

static struct open_loss *find(struct open_losses *losses, const struct item *item)
{
    for (unsigned i = 0; i < losses->n; i++)
        if (losses->items[i].origin == item->origin && losses->items[i].cpu == item->cpu)
            return &losses->items[i];
    return NULL;
}

static int add(struct open_losses *losses, const struct open_loss *loss)
{
    if (losses->n == losses->room) {
        unsigned room = MAX(losses->room * 2, 8u);
        struct open_loss *more = realloc(losses->items, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        losses->items = more;
        losses->room = room;
    }
    losses->items[losses->n++] = *loss;
    return 0;
}

static int put(struct open_losses *losses, const struct item *item)
{
    struct open_loss *loss = losses->n > 0 ? find(losses, item) : NULL;
    bool is_lasting = item->kind == ITEM_LOSS && item->is_open;

    /* An event of its CPU that comes before the loss shows that seeking has passed over it. */
    if (loss && (item->kind == ITEM_LOSS || item->cpu != CPU_UNKNOWN))
        *loss = losses->items[--losses->n];
    if ((!item->before_loss && !is_lasting) || item->time == TIME_UNKNOWN)
        return 0;
    return add(losses, &(struct open_loss){.origin = item->origin,
                                           .cpu = item->cpu,
                                           .since = item->time,
                                           .is_lasting = is_lasting});
}

/* ITEM is after what is read: if it is a loss, it has begun there. */
static int put_after(struct open_losses *losses, const struct item *item)
{
    struct open_loss *loss = find(losses, item);
    bool is_late = false;

    for (unsigned i = 0; i < losses->n_late; i++) {
        struct late_cpus *late = &losses->late[i];

        if (late->origin != item->origin || !cpu_set_has(&late->waiting, (uint32_t)item->cpu))
            continue;
        cpu_set_remove(&late->waiting, (uint32_t)item->cpu);
        is_late = true;
    }
    if (item->kind != ITEM_LOSS)
        return 0;
    if (loss)
        loss->has_end = true;
    else if (is_late && !item->is_open) /* one without an end begins where it is */
        return add(losses, &(struct open_loss){.origin = item->origin,
                                               .cpu = item->cpu,
                                               .since = item->since,
                                               .has_end = true});
    return 0;
}

int open_losses_put(struct open_losses *losses, const struct selection *selection,
                    const struct item *items, unsigned n, bool is_full)
{
    const struct select_options *options = selection->options;
    int r = 0;

    if (likely(!options->from.given && !options->to.given && !options->limited))
        return 0;
    for (unsigned i = 0; i < n && r == 0; i++) {
        if (is_full || (selection->started && items[i].time >= selection->to))
            r = put_after(losses, &items[i]);
        else if (items[i].kind != ITEM_EVENT || items[i].before_loss || losses->n > 0)
            r = put(losses, &items[i]);
    }
    return r;
}

struct item open_loss_item(const struct open_loss *loss, int64_t time)
{
    return (struct item){
        .kind = ITEM_LOSS,
        .cause = LOSS_DROPPED,
        .goes_on = true,
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
        /* A loss without an end is selected itself, wherever it begins (selection_next_run()). */
        if (open.is_lasting)
            continue;
        /* Where the trace ends before, all of it was read. */
        if ((open.has_end || selection_is_over(selection)) && open.since < end &&
            selection_has_loss_after(selection, ret))
            return true;
    }
    return false;
}
