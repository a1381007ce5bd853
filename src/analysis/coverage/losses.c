/* SPDX-License-Identifier: MIT */
#include "analysis/coverage/losses.h"

#include "base/macro.h"
#include "base/saturate.h"

int64_t loss_begin(const struct item *loss)
{
    if (loss->time == TIME_UNKNOWN || loss->time == 0)
        return TIME_UNKNOWN;
    if (loss->since != TIME_UNKNOWN)
        return MIN(loss->since, loss->time);
    return loss->is_open ? TIME_UNKNOWN : loss->time;
}

void losses_add(struct losses *losses, const struct item *loss)
{
    uint64_t *origin;

    if (loss->lost == 0)
        return; /* it may be one, and is counted elsewhere */
    losses->n++;
    if (loss->cause == LOSS_UNREADABLE) {
        losses->damaged++;
        losses->skipped += loss->skipped;
    }
    /* A count that the sum has no room for is a file's claim. */
    if (loss->lost == LOST_UNKNOWN || loss->lost > UINT64_MAX - losses->events) {
        losses->uncounted++;
        return;
    }
    losses->events += loss->lost;
    origin = &losses->by_origin[MIN(loss->origin->number, LOSSES_ORIGINS - 1u)];
    *origin = add_saturated(*origin, loss->lost);
    if (loss->cpu >= 0 && loss->cpu < LOSSES_CPUS) {
        losses->by_cpu[loss->cpu] = add_saturated(losses->by_cpu[loss->cpu], loss->lost);
        losses->n_cpus = MAX(losses->n_cpus, loss->cpu + 1);
    }
}

void losses_add_all(struct losses *losses, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (unlikely(items[i].kind != ITEM_EVENT))
            losses_add(losses, &items[i]);
}

static void add_elsewhere(struct losses *losses, uint64_t lost)
{
    if (lost > UINT64_MAX - losses->elsewhere)
        losses->n_recorders++;
    else
        losses->elsewhere += lost;
}

void losses_add_recorded(struct losses *losses, const struct origin *origin, bool is_part)
{
    unsigned number = MIN(origin->number, LOSSES_ORIGINS - 1u);
    uint64_t more = origin->lost - MIN(losses->by_origin[number], origin->lost);

    if (more > UINT64_MAX - losses->events) {
        losses->n_recorders++;
    } else if (more > 0 && (is_part || number == LOSSES_ORIGINS - 1u)) {
        add_elsewhere(losses, origin->lost);
    } else if (more > 0) {
        losses->unplaced = add_saturated(losses->unplaced, more);
        losses->events = add_saturated(losses->events, more);
        losses->by_origin[number] = origin->lost;
    }
    losses->n_recorders += origin->lost_uncounted || origin->threads_only;
}

void losses_merge(struct losses *losses, const struct losses *other)
{
    losses->n += other->n;
    losses->uncounted += other->uncounted;
    losses->skipped += other->skipped;
    losses->damaged += other->damaged;
    losses->n_recorders += other->n_recorders;
    add_elsewhere(losses, other->elsewhere);
    /* What the sum has no room for is a file's claim, as in losses_add(). */
    if (other->events > UINT64_MAX - losses->events) {
        losses->uncounted++;
        return;
    }
    losses->events += other->events;
    losses->n_cpus = MAX(losses->n_cpus, other->n_cpus);
    for (int cpu = 0; cpu < other->n_cpus; cpu++)
        losses->by_cpu[cpu] += other->by_cpu[cpu];
    for (unsigned i = 0; i < LOSSES_ORIGINS; i++)
        losses->by_origin[i] = add_saturated(losses->by_origin[i], other->by_origin[i]);
    losses->unplaced += other->unplaced;
}

static void losses_begin(struct sink *sink)
{
    sink_begin(container_of(sink, struct losses_sink, sink)->next);
}

static int losses_put_items(struct sink *sink, const struct item *items, unsigned n)
{
    struct losses_sink *counter = container_of(sink, struct losses_sink, sink);
    int r;

    for (unsigned i = 0; i < n; i++)
        if (unlikely(items[i].kind != ITEM_EVENT)) {
            losses_add(&counter->losses, &items[i]);
            losses_add(&counter->layers.losses[items[i].origin->layer], &items[i]);
        }
    r = sink_put(counter->next, items, n);
    return r < 0 ? sink_fail(sink, counter->next, r) : 0;
}

static int losses_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(container_of(sink, struct losses_sink, sink)->next, item);
}

static int losses_flush(struct sink *sink)
{
    struct losses_sink *counter = container_of(sink, struct losses_sink, sink);
    int r = sink_flush(counter->next);

    return r < 0 ? sink_fail(sink, counter->next, r) : 0;
}

static int losses_finish(struct sink *sink)
{
    struct losses_sink *counter = container_of(sink, struct losses_sink, sink);
    int r = sink_finish(counter->next);

    return r < 0 ? sink_fail(sink, counter->next, r) : 0;
}

void losses_sink_init(struct losses_sink *sink, struct sink *next)
{
    static const struct sink_ops ops = {.begin = losses_begin,
                                        .put = losses_put_items,
                                        .begin_loss = losses_begin_loss,
                                        .flush = losses_flush,
                                        .finish = losses_finish};

    *sink = (struct losses_sink){.sink = {.ops = &ops}, .next = next};
}
