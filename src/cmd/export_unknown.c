/* SPDX-License-Identifier: MIT */
#include "cmd/export_unknown.h"

#include <inttypes.h>

#include "base/macro.h"
#include "cli/message.h"
#include "export/export.h"

static int unknown_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct export_unknown *unknown = container_of(sink, struct export_unknown, sink);
    int r;

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];

        if (unlikely(item->kind != ITEM_EVENT))
            continue;
        unknown->n_times += item->time == TIME_UNKNOWN;
        /* A hypervisor's event is of its vCPU. */
        unknown->n_threads += item->pid == PID_UNKNOWN && item->origin->layer != LAYER_HYPERVISOR;
    }
    r = sink_put(unknown->next, items, n);
    return r < 0 ? sink_fail(sink, unknown->next, r) : 0;
}

static int unknown_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(container_of(sink, struct export_unknown, sink)->next, item);
}

static int unknown_flush(struct sink *sink)
{
    struct sink *next = container_of(sink, struct export_unknown, sink)->next;
    int r = sink_flush(next);

    return r < 0 ? sink_fail(sink, next, r) : 0;
}

static int unknown_finish(struct sink *sink)
{
    struct sink *next = container_of(sink, struct export_unknown, sink)->next;
    int r = sink_finish(next);

    return r < 0 ? sink_fail(sink, next, r) : 0;
}

static void unknown_begin(struct sink *sink)
{
    sink_begin(container_of(sink, struct export_unknown, sink)->next);
}

void export_unknown_init(struct export_unknown *unknown, unsigned traits, struct sink *next)
{
    static const struct sink_ops ops = {.begin = unknown_begin,
                                        .put = unknown_put,
                                        .begin_loss = unknown_begin_loss,
                                        .flush = unknown_flush,
                                        .finish = unknown_finish};

    *unknown = (struct export_unknown){.sink = {.ops = &ops}, .next = next, .traits = traits};
}

void export_unknown_report(const struct export_unknown *unknown, const char *path)
{
    if (unknown->n_times > 0 && unknown->traits & EXPORT_NEEDS_TIMES)
        cli_error("%s: the time of %" PRIu64
                  " event%s is unknown: the export has the time of the previous event, or 0",
                  path, unknown->n_times, unknown->n_times == 1 ? "" : "s");
    if (unknown->n_threads > 0 && unknown->traits & EXPORT_NEEDS_THREADS)
        cli_error("%s: the thread of %" PRIu64
                  " event%s is unknown: the export has thread 0, which other tools show as <idle>",
                  path, unknown->n_threads, unknown->n_threads == 1 ? "" : "s");
}
