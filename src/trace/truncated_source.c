/* SPDX-License-Identifier: MIT */
/* A stage after the reader of an incomplete source: lends its items, and at the end a loss of unknown size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/transform.h"
#include "trace/open.h"

struct cut {
    struct transform transform;
    struct item loss; /* its `time` is the time of the last item */
    int64_t began;    /* time of the loss if there are no items */
};

static void cut_change(struct transform *each, struct item *items, unsigned n)
{
    struct cut *cut = container_of(each, struct cut, transform);

    for (unsigned i = 0; i < n; i++)
        if (items[i].time > cut->loss.time)
            cut->loss.time = items[i].time;
}

static const struct item *cut_end(struct transform *each)
{
    struct cut *cut = container_of(each, struct cut, transform);

    if (cut->loss.time == TIME_UNKNOWN)
        cut->loss.time = cut->began;
    return &cut->loss;
}

static void cut_free(struct transform *each)
{
    free(container_of(each, struct cut, transform));
}

/* Returns when the recording of SOURCE began, by the clock of its events, or 0 if unknown. */
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
    struct source *last;
    int r;

    if (!cut)
        return -ENOMEM;
    cut->transform.change = cut_change;
    cut->transform.free = cut_free;
    cut->transform.end = cut_end;
    cut->began = began(ctx->recorded);
    cut->loss = (struct item){
        .time = TIME_UNKNOWN,
        .since = TIME_UNKNOWN,
        .origin = catalogue->origins[catalogue->n_origins - 1],
        .lost = LOST_UNKNOWN,
        .cpu = CPU_UNKNOWN,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .is_open = true, /* the manifest has the length of the file */
        .kind = ITEM_LOSS,
        .cause = LOSS_UNREADABLE,
    };
    last = ctx->sources[--ctx->n_sources];
    r = transform_open(last, &cut->transform, &last);
    if (r >= 0)
        ctx->sources[ctx->n_sources++] = last;
    return r;
}
