/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_sources.h"

#include <errno.h>
#include <stdlib.h>

#define ENDED_THREADS_MAX (1u << 20)

_cold_ struct source_losses *span_source_slow(struct spans *spans, const struct origin *origin)
{
    struct source_losses *source = map_get(&spans->sources, (uintptr_t)origin);

    if (!source) {
        source = arena_alloc(&spans->arena, sizeof *source);
        if (!source || map_put(&spans->sources, (uintptr_t)origin, source) < 0)
            return NULL;
        source->number = ++spans->n_sources;
        if (origin->complete_from != 0)
            source->all = source->complete = SPAN_LOSS_HAS_BEGUN;
    }
    spans->recent_origin = origin;
    spans->recent = source;
    return source;
}

static void update_all(struct source_losses *source)
{
    source->all = MAX(MAX(source->any_cpu, source->complete), source->cpus_last);
    if (source->cpus_begun > 0)
        source->all = MAX(source->all, SPAN_LOSS_HAS_BEGUN);
}

void span_sources_complete(struct spans *spans, struct source_losses *source)
{
    source->complete = ++spans->sequence;
    update_all(source);
}

static struct span_cpu *get_cpu(struct source_losses *source, int32_t cpu)
{
    unsigned n = MAX((unsigned)cpu + 1, source->n_cpus * 2);
    struct span_cpu *cpus;

    if ((unsigned)cpu < source->n_cpus)
        return &source->cpus[cpu];
    cpus = realloc(source->cpus, n * sizeof *cpus);
    if (!cpus)
        return NULL;
    for (unsigned i = source->n_cpus; i < n; i++)
        cpus[i] = (struct span_cpu){.switched = INT64_MIN};
    source->cpus = cpus;
    source->n_cpus = n;
    return &cpus[cpu];
}

/* Finds the source of ITEM, and its CPU, or NULL if it has none. 0, -ENOMEM. */
static int find_cpu(struct spans *spans, const struct item *item, struct source_losses **ret_source,
                    struct span_cpu **ret_cpu)
{
    struct source_losses *source = get_source(spans, item->origin);

    *ret_source = source;
    *ret_cpu = NULL;
    if (!source)
        return -ENOMEM;
    if (!span_loss_has_cpu(item))
        return 0;
    *ret_cpu = get_cpu(source, item->cpu);
    return *ret_cpu ? 0 : -ENOMEM;
}

int span_sources_begin_loss(struct spans *spans, const struct item *item)
{
    struct source_losses *source;
    struct span_cpu *cpu;
    int r = find_cpu(spans, item, &source, &cpu);

    if (r < 0)
        return r;
    if (!cpu)
        source->n_begun++;
    else
        source->cpus_begun += cpu->lost < SPAN_LOSS_HAS_BEGUN;
    *(cpu ? &cpu->lost : &source->any_cpu) =
        MAX(cpu ? cpu->lost : source->any_cpu, SPAN_LOSS_HAS_BEGUN);
    source->all = MAX(source->all, SPAN_LOSS_HAS_BEGUN);
    return 0;
}

int span_sources_put_switch(struct spans *spans, const struct item *event)
{
    struct source_losses *source;
    struct span_cpu *cpu;
    int r = find_cpu(spans, event, &source, &cpu);

    if (r < 0 || !cpu)
        return r;
    cpu->switched = event->time;
    source->has_switches = true;
    source->is_filtered = event->origin->pid_filter || event->origin->threads_only;
    return 0;
}

int span_sources_put_loss(struct spans *spans, const struct item *item)
{
    struct source_losses *source;
    struct span_cpu *cpu;
    uint32_t sequence;
    int r = find_cpu(spans, item, &source, &cpu);

    if (r < 0)
        return r;
    sequence = ++spans->sequence;
    if (item->is_open)
        sequence = SPAN_LOSS_IS_OPEN;
    if (!cpu) {
        source->n_begun -= source->n_begun > 0;
        if (source->n_begun == 0 && source->any_cpu != SPAN_LOSS_IS_OPEN)
            source->any_cpu = sequence;
        update_all(source);
        return 0;
    }
    source->cpus_begun -= cpu->lost == SPAN_LOSS_HAS_BEGUN;
    if (cpu->lost != SPAN_LOSS_IS_OPEN)
        cpu->lost = sequence;
    source->cpus_last = MAX(source->cpus_last, sequence);
    update_all(source);
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
