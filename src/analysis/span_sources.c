/* SPDX-License-Identifier: MIT */
#include "analysis/span_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENDED_THREADS_MAX (1u << 20)

_cold_ struct source_losses *span_source_slow(struct spans *spans, const struct origin *origin)
{
    struct source_losses *source = map_get(&spans->sources, (uintptr_t)origin);

    if (!source) {
        source = arena_alloc(&spans->arena, sizeof *source);
        if (!source || map_put(&spans->sources, (uintptr_t)origin, source) < 0)
            return NULL;
        source->number = ++spans->n_sources;
    }
    spans->recent_origin = origin;
    spans->recent = source;
    return source;
}

void span_sources_complete(struct spans *spans, struct source_losses *source)
{
    source->complete = ++spans->sequence;
    source->all = MAX(source->all, source->complete);
}

int span_sources_put_loss(struct spans *spans, const struct item *item)
{
    struct source_losses *source = get_source(spans, item->origin);
    uint32_t sequence;

    if (!source)
        return -ENOMEM;
    sequence = ++spans->sequence;
    if (item->is_open)
        sequence = SPAN_LOSS_IS_OPEN;
    source->all = MAX(source->all, sequence);
    if (!span_loss_has_cpu(item)) {
        source->any_cpu = MAX(source->any_cpu, sequence);
        return 0;
    }
    if ((unsigned)item->cpu >= source->n_cpus) {
        unsigned n = (unsigned)item->cpu + 1;
        uint32_t *cpus = realloc(source->cpus, n * sizeof *cpus);

        if (!cpus)
            return -ENOMEM;
        memset(cpus + source->n_cpus, 0, (n - source->n_cpus) * sizeof *cpus);
        source->cpus = cpus;
        source->n_cpus = n;
    }
    source->cpus[item->cpu] = MAX(source->cpus[item->cpu], sequence);
    return 0;
}

int span_sources_end_thread(struct spans *spans, const struct item *item, int32_t pid)
{
    struct source_losses *source = get_source(spans, item->origin);

    if (!source)
        return -ENOMEM;
    if (spans->n_ended_threads == ENDED_THREADS_MAX) {
        map_done(&spans->ended_threads);
        spans->n_ended_threads = 0;
    }
    spans->n_ended_threads++;
    spans->sequence++;
    return map_put(&spans->ended_threads, thread_key(source->number, pid),
                   (void *)(uintptr_t)spans->sequence);
}
