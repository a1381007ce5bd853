/* SPDX-License-Identifier: MIT */
#include "analysis/coverage/source_ends.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/spans/span_steps.h"
#include "base/macro.h"

void source_ends_done(struct source_ends *ends)
{
    free(ends->items);
    *ends = (struct source_ends){0};
}

static unsigned find(const struct source_ends *ends, const struct origin *origin)
{
    unsigned i = 0;

    while (i < ends->n && ends->items[i].origin != origin)
        i++;
    return i;
}

/* NULL if out of memory. */
static _cold_ struct source_end *find_or_add(struct source_ends *ends, const struct origin *origin)
{
    unsigned i = find(ends, origin);

    if (i == ends->n) {
        if ((ends->n & (ends->n - 1)) == 0) {
            struct source_end *more =
                realloc(ends->items, MAX(ends->n * 2, 1u) * sizeof *ends->items);

            if (!more)
                return NULL;
            ends->items = more;
        }
        ends->items[ends->n++] = (struct source_end){.origin = origin, .time = TIME_UNKNOWN};
    }
    ends->recent = i;
    return &ends->items[i];
}

int source_ends_put(struct source_ends *ends, const struct item *items, unsigned n)
{
    struct source_end *end = ends->n > 0 ? &ends->items[ends->recent] : NULL;

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];

        if (unlikely(!end || item->origin != end->origin))
            end = find_or_add(ends, item->origin);
        if (unlikely(!end))
            return -ENOMEM;
        if (unlikely(item->kind != ITEM_EVENT)) {
            end->is_lost |= item->kind == ITEM_LOSS;
            continue;
        }
        end->is_lost = false;
        if (item->time < end->time)
            continue;
        end->time = item->time;
        end->error_ns = item->error_ns;
        ends->last = MAX(ends->last, item->time);
    }
    return 0;
}

int source_ends_note(struct source_ends *ends, const struct origin *origin, int64_t time,
                     uint32_t error_ns)
{
    struct source_end *end = find_or_add(ends, origin);

    if (!end)
        return -ENOMEM;
    if (time > end->time) {
        end->time = time;
        end->error_ns = error_ns;
    }
    return 0;
}

/* The end of the data of source I. */
static struct source_end end_of(const struct source_ends *ends, unsigned i)
{
    struct source_end end = ends->items[i];

    if (end.origin->known_until != 0 && !end.is_lost)
        end.time = MAX(end.time, MIN(end.origin->known_until, ends->last));
    return end;
}

struct source_end source_ends_find(const struct source_ends *ends, const struct origin *origin)
{
    unsigned i = find(ends, origin);

    return i < ends->n ? end_of(ends, i)
                       : (struct source_end){.origin = origin, .time = TIME_UNKNOWN};
}

/* True if ORIGIN may have an event of STEP after TIME. */
static bool may_have(const struct origin *origin, const struct span_step *step, int64_t time)
{
    return (step->layers == 0 || step->layers >> origin->layer & 1) &&
           (origin->ended == 0 || origin->ended >= time);
}

struct source_end source_ends_find_open(const struct source_ends *ends, const struct spans *spans,
                                        const struct span *span)
{
    const struct span_rule *rule = span->kind->rule;
    struct source_end found = {.time = TIME_UNKNOWN};
    unsigned seen = rule->n_steps - 1;

    if (spans->rule_keys[span->kind->rule_number].crossings == 0)
        return source_ends_find(ends, span->origin);
    while (span->at[seen] == TIME_UNKNOWN)
        seen--;
    for (unsigned i = seen + 1; i < rule->n_steps; i++) {
        struct source_end of_step = {.time = TIME_UNKNOWN};

        for (unsigned j = 0; j < ends->n && !rule->steps[i].optional; j++) {
            struct source_end end = end_of(ends, j);

            if (may_have(end.origin, &rule->steps[i], span_begin(span)) &&
                (!of_step.origin || end.time < of_step.time))
                of_step = end;
        }
        if (of_step.time > found.time)
            found = of_step;
    }
    return found;
}
