/* SPDX-License-Identifier: MIT */
#include "timeline/transform.h"

#include <stdlib.h>

#include "base/macro.h"

struct each_source {
    struct source source;
    struct source *inner;
    struct transform *each;
    bool ended;
};

static struct each_source *each_of(const struct source *source)
{
    return container_of(source, struct each_source, source);
}

static int each_next(struct source *source, const struct item **ret_items)
{
    struct each_source *e = each_of(source);
    const struct item *lent;
    int n = source_next(e->inner, &lent);

    if (n < 0)
        source->error = e->inner->error;
    if (n == 0 && e->each->end && !e->ended) {
        e->ended = true;
        *ret_items = e->each->end(e->each);
        return 1;
    }
    if (n <= 0)
        return n;
    e->each->change(e->each, (struct item *)(uintptr_t)lent, (unsigned)n); /* S6 */
    *ret_items = lent;
    return n;
}

static void each_free(struct source *source)
{
    struct each_source *e = each_of(source);

    source_free(e->inner);
    e->each->free(e->each);
    free(e);
}

static void each_facts(const struct source *source,
                       void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct source *inner = each_of(source)->inner;

    if (inner->ops->facts)
        inner->ops->facts(inner, put, arg);
}

static void each_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct source *inner = each_of(source)->inner;

    *ret_done = *ret_total = 0;
    if (inner->ops->progress)
        inner->ops->progress(inner, ret_done, ret_total);
}

static void each_seek(struct source *source, int64_t time)
{
    struct each_source *e = each_of(source);

    source_seek(e->inner, e->each->input_time ? e->each->input_time(e->each, time) : time);
}

static const char *each_hint(const struct source *source)
{
    const struct source *inner = each_of(source)->inner;

    return inner->ops->hint ? inner->ops->hint(inner) : NULL;
}

static const struct source_ops each_ops = {
    .next = each_next,
    .free = each_free,
    .facts = each_facts,
    .progress = each_progress,
    .seek = each_seek,
    .hint = each_hint,
};

int transform_open(struct source *source, struct transform *each, struct source **ret_source)
{
    struct each_source *e = calloc(1, sizeof *e);

    if (!e) {
        source_free(source);
        each->free(each);
        return -ENOMEM;
    }
    e->source.ops = &each_ops;
    e->source.ordered = source->ordered;
    e->source.one_buffer = source->one_buffer;
    e->source.may_restart = source->may_restart;
    e->source.tells_losses_late = source->tells_losses_late;
    e->source.skips = source->skips;
    e->inner = source;
    e->each = each;
    *ret_source = &e->source;
    return 0;
}
