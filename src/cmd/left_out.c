/* SPDX-License-Identifier: MIT */
#include "cmd/left_out.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu_set.h"
#include "base/macro.h"

struct left_out_source {
    const struct origin *origin;
    struct cpu_set seen, put;
};

void left_out_done(struct left_out *left_out)
{
    free(left_out->sources);
    *left_out = (struct left_out){0};
}

static struct left_out_source *get_source(struct left_out *left_out, const struct origin *origin)
{
    struct left_out_source *more;

    for (unsigned i = left_out->n; i > 0; i--)
        if (left_out->sources[i - 1].origin == origin)
            return &left_out->sources[i - 1];
    more = realloc(left_out->sources, (left_out->n + 1) * sizeof *more);
    if (!more)
        return NULL;
    left_out->sources = more;
    more[left_out->n] = (struct left_out_source){.origin = origin};
    return &more[left_out->n++];
}

int left_out_note(struct left_out *left_out, const struct selection *selection,
                  const struct item *items, unsigned n)
{
    const struct select_options *options = selection->options;
    struct left_out_source *source = NULL;

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];

        if ((uint32_t)item->cpu >= CPU_SET_MAX || ranges_include(&options->cpus, item->cpu) ||
            !selection->started || item->time < selection->from || item->time >= selection->to ||
            (options->layers && !(options->layers >> item->origin->layer & 1)))
            continue;
        if (!source || source->origin != item->origin)
            source = get_source(left_out, item->origin);
        if (!source)
            return -ENOMEM;
        if (!cpu_set_has(&source->seen, (uint32_t)item->cpu)) {
            cpu_set_add(&source->seen, (uint32_t)item->cpu);
            left_out->has_new = true;
        }
    }
    return 0;
}

int left_out_put(struct left_out *left_out, struct sink *sink, int64_t time)
{
    if (!left_out->has_first) {
        left_out->has_first = true;
        left_out->first = time;
    }
    if (likely(!left_out->has_new))
        return 0;
    left_out->has_new = false;
    for (unsigned i = 0; i < left_out->n; i++) {
        struct left_out_source *source = &left_out->sources[i];

        for (uint32_t cpu = cpu_set_next(&source->seen, 0); cpu < CPU_SET_MAX;
             cpu = cpu_set_next(&source->seen, cpu + 1)) {
            const struct item loss = {.kind = ITEM_LOSS,
                                      .origin = source->origin,
                                      .time = time,
                                      .since = left_out->first,
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
