/* SPDX-License-Identifier: MIT */
/* index_slices(): gets slices, and combines those that are too short to be seen. */

#include <errno.h>
#include <stdlib.h>

#include "analysis/states/states.h"
#include "base/macro.h"
#include "index/internal.h"
#include "index/top_names.h"

struct gather {
    struct index_slices *slices;
    struct grid grid;
    int64_t from, to; /* the requested time */
    bool is_states;
    bool has_end;
    int64_t end; /* end of the last slice */
    /* The combined slices, if `n` is not 0: */
    uint64_t n;
    struct period period;
    struct index_slice many;
    struct top_names tops;
};

void index_slices_done(struct index_slices *slices)
{
    free(slices->slices);
    *slices = (struct index_slices){0};
}

static int append(struct gather *gather, const struct index_slice *slice)
{
    struct index_slices *slices = gather->slices;

    if (slice->end < gather->from || slice->begin > gather->to)
        return 0;
    if (slices->n == slices->room) {
        unsigned room = slices->room ? slices->room * 2 : 64;
        struct index_slice *bigger =
            room > slices->room ? realloc(slices->slices, room * sizeof *bigger) : NULL;

        if (!bigger)
            return -ENOMEM;
        slices->slices = bigger;
        slices->room = room;
    }
    slices->slices[slices->n] = *slice;
    if (gather->is_states && slice->name < STATES)
        slices->slices[slices->n].state = (uint8_t)slice->name;
    slices->n++;
    return 0;
}

/* Appends the combined slices. */
static int flush(struct gather *gather)
{
    struct index_slice *many = &gather->many;
    uint64_t n = gather->n;

    gather->n = 0;
    if (n == 0)
        return 0;
    if (n > 1) {
        many->name = top_names_best(&gather->tops, NULL);
        many->flags |= INDEX_MANY;
        many->n = (uint32_t)MIN(n, (uint64_t)UINT32_MAX);
        many->covered = share_of(gather->tops.covered, ns_between(many->begin, many->end));
    }
    return append(gather, many);
}

/* The next slice begins at BEGIN, not in an earlier period than the last one. */
static int step(struct gather *gather, int64_t begin, int64_t end)
{
    if (unlikely(gather->has_end && begin < gather->end))
        return -EINVAL;
    gather->has_end = true;
    gather->end = end;
    return 0;
}

/* Adds a slice or node to the slices of its period, or begins with it. True if there were others. */
static int gather_one(struct gather *gather, int64_t begin, int64_t end, uint32_t name,
                      uint8_t flags)
{
    int r;

    if (gather->n > 0 && biased(begin) <= gather->period.end) {
        gather->many.end = end;
        gather->many.flags |= flags;
        return 1;
    }
    grid_seek(&gather->grid, biased(begin), &gather->period);
    r = flush(gather);
    gather->tops.n = 0;
    gather->tops.covered = 0;
    gather->many = (struct index_slice){
        .begin = begin, .end = end, .name = name, .n = 1, .covered = SHARE_ONE, .flags = flags};
    return r;
}

static int put_slices(void *arg, const struct walked_slice *slices, unsigned n)
{
    struct gather *gather = arg;
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++) {
        const struct walked_slice *slice = &slices[i];
        uint64_t duration = ns_between(slice->begin, slice->end);

        r = step(gather, slice->begin, slice->end);
        if (r == 0 && duration >= gather->grid.width) {
            const struct index_slice exact = {.begin = slice->begin,
                                              .end = slice->end,
                                              .name = slice->name,
                                              .n = 1,
                                              .covered = SHARE_ONE,
                                              .flags = slice->flags};

            r = flush(gather);
            if (r == 0)
                r = append(gather, &exact);
        } else if (r == 0) {
            r = gather_one(gather, slice->begin, slice->end, slice->name, slice->flags);
            top_names_put(&gather->tops, slice->name, duration);
            gather->n++;
        }
    }
    return r < 0 ? r : 0;
}

static int put_node(void *arg, const struct slice_node *node, uint64_t n)
{
    struct gather *gather = arg;
    int r = step(gather, node->begin, node->end);

    if (r < 0)
        return r;
    r = gather_one(gather, node->begin, node->end, node->name,
                   (uint8_t)(node->where & 0xff & ~(unsigned)INDEX_MANY));
    top_names_put_node(&gather->tops, node);
    gather->n += n;
    return r < 0 ? r : 0;
}

/* NS minus BY, at least INT64_MIN; and NS plus BY. */
static int64_t less(int64_t ns, uint64_t by)
{
    return unbiased(biased(ns) < by ? 0 : biased(ns) - by);
}

static int64_t more(int64_t ns, uint64_t by)
{
    return unbiased(biased(ns) > UINT64_MAX - by ? UINT64_MAX : biased(ns) + by);
}

int index_slices(const struct index *index, uint32_t track, unsigned depth, int64_t from,
                 int64_t to, int64_t resolution, struct index_slices *slices)
{
    const struct index_track *found = index_track(index, track);
    struct gather gather = {.slices = slices, .from = from, .to = to};
    struct slice_walk walk = {
        .from = from, .to = to, .grid = &gather.grid, .slices = put_slices, .node = put_node};
    int r;

    if (!found || depth >= found->n_depths || to < from)
        return 0;
    gather.is_states = found->kind == INDEX_STATES;
    walk.arg = &gather;
    if (resolution > 0) {
        uint64_t width = (uint64_t)resolution;

        /* The periods of both ends as a whole; what is short and reaches into the first begins in the one before. */
        gather.grid.width = width;
        walk.from = less(from, biased(from) % width + width);
        walk.to = more(to, width - 1 - biased(to) % width);
    }
    r = slice_walk(&walk, index, track, depth);
    return r < 0 ? r : flush(&gather);
}
