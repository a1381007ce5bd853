/* SPDX-License-Identifier: MIT */
#include "analysis/slowest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ticks.h"

int slowest_init(struct slowest *slowest, unsigned max)
{
    *slowest = (struct slowest){.max = max};
    if (max == 0)
        return 0;
    slowest->ended.spans = calloc(max, sizeof *slowest->ended.spans);
    slowest->open.spans = calloc(max, sizeof *slowest->open.spans);
    return slowest->ended.spans && slowest->open.spans ? 0 : -ENOMEM;
}

static void free_kind(const struct slowest *slowest, const struct slow_span *span)
{
    if (slowest->free_kind)
        slowest->free_kind((void *)(uintptr_t)span->kind);
}

void slowest_done(struct slowest *slowest)
{
    for (unsigned i = 0; i < slowest_n(slowest); i++)
        free_kind(slowest, slowest_get(slowest, i));
    free(slowest->ended.spans);
    free(slowest->open.spans);
    *slowest = (struct slowest){0};
}

static int64_t duration_of(const struct slow_span *span)
{
    return ticks_between(span->begin, span->end);
}

bool slowest_would_keep(const struct slowest *slowest, int64_t duration, bool is_open)
{
    const struct slow_heap *heap = is_open ? &slowest->open : &slowest->ended;

    return heap->n < slowest->max || (slowest->max > 0 && duration > duration_of(&heap->spans[0]));
}

static void add(struct slow_heap *heap, const struct slow_span *span)
{
    int64_t duration = duration_of(span);
    unsigned at = heap->n++;

    for (; at > 0 && duration_of(&heap->spans[(at - 1) / 2]) > duration; at = (at - 1) / 2)
        heap->spans[at] = heap->spans[(at - 1) / 2];
    heap->spans[at] = *span;
}

static void replace_shortest(struct slow_heap *heap, const struct slow_span *span)
{
    int64_t duration = duration_of(span);
    unsigned at = 0;

    for (;;) {
        unsigned child = 2 * at + 1;

        if (child + 1 < heap->n &&
            duration_of(&heap->spans[child + 1]) < duration_of(&heap->spans[child]))
            child++;
        if (child >= heap->n || duration_of(&heap->spans[child]) >= duration)
            break;
        heap->spans[at] = heap->spans[child];
        at = child;
    }
    heap->spans[at] = *span;
}

void slowest_keep(struct slowest *slowest, const struct slow_span *span)
{
    struct slow_heap *heap = span->is_open ? &slowest->open : &slowest->ended;

    if (!slowest_would_keep(slowest, duration_of(span), span->is_open)) {
        free_kind(slowest, span);
    } else if (heap->n < slowest->max) {
        add(heap, span);
    } else {
        free_kind(slowest, &heap->spans[0]);
        replace_shortest(heap, span);
    }
}
