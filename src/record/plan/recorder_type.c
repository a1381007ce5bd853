/* SPDX-License-Identifier: MIT */
#include "record/plan/recorder_type.h"

#include "record/plan/plan.h"

static bool is_wanted(const struct plan_recorder *recorder)
{
    return recorder->type->count(recorder->options) > 0;
}

unsigned plan_recorders_n(const struct plan_recorder *recorders)
{
    unsigned n = 0;

    for (; recorders && recorders->type; recorders++)
        n += recorders->type->count(recorders->options);
    return n;
}

const char *plan_recorders_option(const struct plan_recorder *recorders)
{
    for (; recorders && recorders->type; recorders++)
        if (is_wanted(recorders))
            return recorders->type->option;
    return NULL;
}

unsigned plan_recorders_layers(const struct plan_recorder *recorders)
{
    unsigned layers = 0;

    for (; recorders && recorders->type; recorders++)
        layers |= is_wanted(recorders) ? recorders->type->layers : 0;
    return layers;
}

bool plan_recorders_have_buffer_size(const struct plan_recorder *recorders)
{
    for (; recorders && recorders->type; recorders++)
        if (recorders->type->has_buffer_size && is_wanted(recorders))
            return true;
    return false;
}

uint64_t plan_recorders_min_free(const struct plan_recorder *recorders)
{
    uint64_t min_free = 0;

    for (; recorders && recorders->type; recorders++)
        if (is_wanted(recorders))
            min_free = MAX(min_free, recorders->type->min_free);
    return min_free;
}

int plan_recorders_check(const struct record_plan *plan, struct error *error)
{
    int r = 0;

    for (const struct plan_recorder *p = plan->recorders; r >= 0 && p && p->type; p++)
        r = p->type->check ? p->type->check(p->options, plan, error) : 0;
    return r;
}

void plan_recorders_done(const struct plan_recorder *recorders)
{
    for (; recorders && recorders->type; recorders++)
        if (recorders->type->done)
            recorders->type->done(recorders->options);
}
