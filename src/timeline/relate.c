/* SPDX-License-Identifier: MIT */
#include "timeline/relate.h"

#include "base/macro.h"

struct relate {
    struct source source;
    struct source *inner;
    struct relation *relation;
};

static struct relate *relate_of(const struct source *source)
{
    return container_of(source, struct relate, source);
}

static int relate_next(struct source *source, const struct item **ret_items)
{
    struct relate *relate = relate_of(source);
    const struct item *lent;
    struct item *items;
    int n = source_next(relate->inner, &lent);

    if (n < 0)
        source->fault = relate->inner->fault;
    if (n <= 0)
        return n;
    items = (struct item *)(uintptr_t)lent; /* S6 */
    for (int i = 0; i < n; i++) {
        if (items[i].time != TIME_UNKNOWN)
            items[i].time = relation_convert(relate->relation, items[i].time, NULL);
        if (items[i].kind == ITEM_LOSS && items[i].since != TIME_UNKNOWN)
            items[i].since = relation_convert(relate->relation, items[i].since, NULL);
    }
    *ret_items = items;
    return n;
}

static void relate_free(struct source *source)
{
    struct relate *relate = relate_of(source);

    source_free(relate->inner);
    free(relate);
}

static void relate_facts(const struct source *source,
                         void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct source *inner = relate_of(source)->inner;

    if (inner->ops->facts)
        inner->ops->facts(inner, put, arg);
}

static void relate_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct source *inner = relate_of(source)->inner;

    *ret_done = *ret_total = 0;
    if (inner->ops->progress)
        inner->ops->progress(inner, ret_done, ret_total);
}

static const char *relate_hint(const struct source *source)
{
    const struct source *inner = relate_of(source)->inner;

    return inner->ops->hint ? inner->ops->hint(inner) : NULL;
}

static const struct source_ops relate_ops = {
    .next = relate_next,
    .free = relate_free,
    .facts = relate_facts,
    .progress = relate_progress,
    .hint = relate_hint,
};

int relate_open(struct source *source, struct relation *relation, struct source **ret_source)
{
    struct relate *relate = calloc(1, sizeof *relate);

    if (!relate) {
        source_free(source);
        return -ENOMEM;
    }
    relate->source.ops = &relate_ops;
    relate->source.ordered = source->ordered;
    relate->source.one_buffer = source->one_buffer;
    relate->inner = source;
    relate->relation = relation;
    *ret_source = &relate->source;
    return 0;
}
