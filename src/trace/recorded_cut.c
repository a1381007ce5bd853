/* SPDX-License-Identifier: MIT */
/* A stage after the reader of what is only a part of what was recorded: its items, and at their end a loss of unknown size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/open.h"

struct cut {
    struct source source;
    struct source *inner;
    struct item loss; /* `time`: of the last item */
    int64_t began;    /* its time where there is no item */
    bool is_lent;
};

static int cut_next(struct source *source, const struct item **ret_items)
{
    struct cut *cut = container_of(source, struct cut, source);
    int n = source_next(cut->inner, ret_items);

    if (n < 0)
        source->error = cut->inner->error;
    for (int i = 0; i < n; i++)
        if ((*ret_items)[i].time > cut->loss.time)
            cut->loss.time = (*ret_items)[i].time;
    if (n != 0 || cut->is_lent)
        return n;
    cut->is_lent = true;
    if (cut->loss.time == TIME_UNKNOWN)
        cut->loss.time = cut->began;
    *ret_items = &cut->loss;
    return 1;
}

static void cut_free(struct source *source)
{
    struct cut *cut = container_of(source, struct cut, source);

    source_free(cut->inner);
    free(cut);
}

static void cut_facts(const struct source *source,
                      void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct source *inner = container_of(source, struct cut, source)->inner;

    if (inner->ops->facts)
        inner->ops->facts(inner, put, arg);
}

static void cut_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct source *inner = container_of(source, struct cut, source)->inner;

    *ret_done = *ret_total = 0;
    if (inner->ops->progress)
        inner->ops->progress(inner, ret_done, ret_total);
}

static void cut_seek(struct source *source, int64_t time)
{
    source_seek(container_of(source, struct cut, source)->inner, time);
}

static const char *cut_hint(const struct source *source)
{
    const struct source *inner = container_of(source, struct cut, source)->inner;

    return inner->ops->hint ? inner->ops->hint(inner) : NULL;
}

static const struct source_ops cut_ops = {
    .next = cut_next,
    .free = cut_free,
    .facts = cut_facts,
    .progress = cut_progress,
    .seek = cut_seek,
    .hint = cut_hint,
};

/* When the recording of SOURCE began, by the clock of its events; 0: not known. */
static int64_t began(const struct manifest_source *source)
{
    const char *clock = source->clock.name ? source->clock.name : "";

    if (source->clock.host)
        return source->began.monotonic_ns;
    return strcmp(clock, "realtime") == 0 ? source->began.realtime_ns
           : strcmp(clock, "tsc") == 0    ? (int64_t)source->began.tsc
                                          : 0;
}

int recorded_cut_add(struct open_ctx *ctx)
{
    const struct catalogue *catalogue = &ctx->trace->catalogue;
    struct cut *cut = calloc(1, sizeof *cut);
    struct source **last = &ctx->sources[ctx->n_sources - 1];

    if (!cut)
        return -ENOMEM;
    cut->source.ops = &cut_ops;
    cut->source.ordered = (*last)->ordered;
    cut->source.one_buffer = (*last)->one_buffer;
    cut->source.skips = (*last)->skips;
    cut->inner = *last;
    cut->began = began(ctx->recorded);
    cut->loss = (struct item){
        .time = TIME_UNKNOWN,
        .since = TIME_UNKNOWN,
        .origin = catalogue->origins[catalogue->n_origins - 1],
        .lost = LOST_UNKNOWN,
        .cpu = CPU_UNKNOWN,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .kind = ITEM_LOSS,
        .cause = LOSS_UNREADABLE,
    };
    *last = &cut->source;
    return 0;
}
