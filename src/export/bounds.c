/* SPDX-License-Identifier: MIT */
#include "export/bounds.h"

#include <stdlib.h>

#include "base/map.h"
#include "export/put_binary.h"

struct bounds {
    struct sink sink;
    struct sink *next;
    struct map begun; /* by origin and CPU: not NULL if an item of it was seen */
    bool has_first;
    int64_t first, last; /* first and last time of items */
    struct item *open;   /* losses without an end, which are put at the end */
    unsigned n_open, room;
};

static struct bounds *bounds_of(struct sink *sink)
{
    return container_of(sink, struct bounds, sink);
}

static int pass(struct bounds *bounds, const struct item *items, unsigned n)
{
    int r = n > 0 ? sink_put(bounds->next, items, n) : 0;

    return r < 0 ? sink_fail(&bounds->sink, bounds->next, r) : 0;
}

static int keep(struct bounds *bounds, const struct item *loss)
{
    if (bounds->n_open == bounds->room) {
        unsigned room = bounds->room ? 2 * bounds->room : 8;
        struct item *bigger = realloc(bounds->open, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        bounds->open = bigger;
        bounds->room = room;
    }
    bounds->open[bounds->n_open++] = *loss;
    return 0;
}

/* True if ITEM is the first item of a CPU whose beginning is missing, although other items of the export are earlier.
 * -ENOMEM. */
static int begins_late(struct bounds *bounds, const struct item *item)
{
    uint64_t key = (uint64_t)(uintptr_t)item->origin ^ (uint64_t)(uint32_t)item->cpu << 48;

    if (item->cpu == CPU_UNKNOWN || item->origin->complete_from == 0 ||
        map_get(&bounds->begun, key))
        return 0;
    if (map_put(&bounds->begun, key, bounds) < 0)
        return -ENOMEM;
    return item->time > bounds->first && bounds->first < item->origin->complete_from;
}

static struct item loss_before(const struct bounds *bounds, const struct item *item)
{
    struct item loss = item->kind == ITEM_LOSS ? *item
                                               : (struct item){.kind = ITEM_LOSS,
                                                               .origin = item->origin,
                                                               .time = item->time,
                                                               .error_ns = item->error_ns,
                                                               .cpu = item->cpu,
                                                               .pid = PID_UNKNOWN,
                                                               .vcpu = VCPU_UNKNOWN,
                                                               .lost = LOST_UNKNOWN,
                                                               .cause = LOSS_DROPPED};

    loss.since = bounds->first;
    return loss;
}

static int bounds_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct bounds *bounds = bounds_of(sink);
    unsigned from = 0;
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++) {
        const struct item *item = &items[i];
        bool is_held = item->kind == ITEM_LOSS && item->is_open;
        int late;

        if (!bounds->has_first) {
            bounds->has_first = true;
            bounds->first = bounds->last = item->time;
        }
        bounds->last = MAX(bounds->last, item->time);
        late = begins_late(bounds, item);
        if (late < 0)
            return late;
        if (!late && !is_held)
            continue;
        r = pass(bounds, items + from, i - from);
        from = i + (is_held || item->kind == ITEM_LOSS);
        if (r >= 0 && is_held) {
            r = keep(bounds, item);
        } else if (r >= 0) {
            const struct item loss = loss_before(bounds, item);

            r = pass(bounds, &loss, 1);
        }
    }
    return r < 0 ? r : pass(bounds, items + from, n - from);
}

static int bounds_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(bounds_of(sink)->next, item);
}

static int bounds_finish(struct sink *sink)
{
    struct bounds *bounds = bounds_of(sink);
    int r = 0;

    for (unsigned i = 0; i < bounds->n_open && r >= 0; i++) {
        struct item *loss = &bounds->open[i];

        if (loss->since == TIME_UNKNOWN)
            loss->since = loss->time;
        loss->time = bounds->last;
        r = pass(bounds, loss, 1);
    }
    if (r < 0)
        return r;
    r = sink_finish(bounds->next);
    return r < 0 ? sink_fail(sink, bounds->next, r) : 0;
}

static void bounds_free(struct sink *sink)
{
    struct bounds *bounds = bounds_of(sink);

    sink_free(bounds->next);
    map_done(&bounds->begun);
    free(bounds->open);
    free(bounds);
}

int export_bounds_open(struct sink *next, struct sink **ret, struct error *error)
{
    static const struct sink_ops ops = {.put = bounds_put,
                                        .begin_loss = bounds_begin_loss,
                                        .finish = bounds_finish,
                                        .free = bounds_free};
    struct bounds *bounds = calloc(1, sizeof *bounds);

    if (!bounds) {
        sink_free(next);
        return export_no_memory(error);
    }
    bounds->sink.ops = &ops;
    bounds->next = next;
    *ret = &bounds->sink;
    return 0;
}
