/* SPDX-License-Identifier: MIT */
#include "trace/unselected_cpus.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu_set.h"
#include "base/macro.h"

struct unselected_source {
    const struct origin *origin;
    struct cpu_set seen, put;
};

void unselected_cpus_done(struct unselected_cpus *unselected_cpus)
{
    free(unselected_cpus->sources);
    *unselected_cpus = (struct unselected_cpus){0};
}

static struct unselected_source *get_source(struct unselected_cpus *unselected_cpus,
                                            const struct origin *origin)
{
    struct unselected_source *more;

    for (unsigned i = unselected_cpus->n; i > 0; i--)
        if (unselected_cpus->sources[i - 1].origin == origin)
            return &unselected_cpus->sources[i - 1];
    more = realloc(unselected_cpus->sources, (unselected_cpus->n + 1) * sizeof *more);
    if (!more)
        return NULL;
    unselected_cpus->sources = more;
    more[unselected_cpus->n] = (struct unselected_source){.origin = origin};
    return &more[unselected_cpus->n++];
}

int unselected_cpus_note(struct unselected_cpus *unselected_cpus, const struct selection *selection,
                         const struct item *items, unsigned n)
{
    const struct select_options *options = selection->options;
    struct unselected_source *source = NULL;

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];

        if ((uint32_t)item->cpu >= CPU_SET_MAX || ranges_include(&options->cpus, item->cpu) ||
            !selection->started || item->time < selection->from || item->time >= selection->to ||
            (options->layers && !(options->layers >> item->origin->layer & 1)))
            continue;
        if (!source || source->origin != item->origin)
            source = get_source(unselected_cpus, item->origin);
        if (!source)
            return -ENOMEM;
        if (!cpu_set_has(&source->seen, (uint32_t)item->cpu)) {
            cpu_set_add(&source->seen, (uint32_t)item->cpu);
            unselected_cpus->has_new = true;
        }
    }
    return 0;
}

int unselected_cpus_put(struct unselected_cpus *unselected_cpus, struct sink *sink, int64_t time)
{
    if (!unselected_cpus->has_first) {
        unselected_cpus->has_first = true;
        unselected_cpus->first = time;
    }
    if (likely(!unselected_cpus->has_new))
        return 0;
    unselected_cpus->has_new = false;
    for (unsigned i = 0; i < unselected_cpus->n; i++) {
        struct unselected_source *source = &unselected_cpus->sources[i];

        for (uint32_t cpu = cpu_set_next(&source->seen, 0); cpu < CPU_SET_MAX;
             cpu = cpu_set_next(&source->seen, cpu + 1)) {
            const struct item loss = {.kind = ITEM_LOSS,
                                      .origin = source->origin,
                                      .time = time,
                                      .since = unselected_cpus->first,
                                      .cpu = (int32_t)cpu,
                                      .pid = PID_UNKNOWN,
                                      .vcpu = VCPU_UNKNOWN,
                                      .lost = LOST_UNKNOWN,
                                      .cause = LOSS_DROPPED,
                                      .is_open = true};
            int r;

            if (cpu_set_has(&source->put, cpu))
                continue;
            cpu_set_add(&source->put, cpu);
            r = sink_put(sink, &loss, 1);
            if (r < 0)
                return r;
        }
    }
    return 0;
}
