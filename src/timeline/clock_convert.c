/* SPDX-License-Identifier: MIT */
#include "timeline/clock_convert.h"

#include "base/macro.h"
#include "timeline/transform.h"

struct relate {
    struct transform each;
    const struct clock_map *clock_map;
    struct clock_map_piece piece; /* that the last time was in; mostly the next is, too */
    int64_t since;                /* of losses without a start */
    uint32_t error_ns;            /* without a relation */
};

static inline int64_t convert(struct relate *relate, int64_t ticks, int64_t *ret_error)
{
    if (unlikely(!clock_map_piece_holds(&relate->piece, ticks)))
        clock_map_find(relate->clock_map, ticks, &relate->piece);
    return clock_map_piece_convert(&relate->piece, ticks, ret_error);
}

static void relate_times(struct transform *each, struct item *items, unsigned n)
{
    struct relate *relate = container_of(each, struct relate, each);

    for (unsigned i = 0; i < n; i++) {
        int64_t error = 0;

        items[i].clock_part = 0;
        if (likely(items[i].time != TIME_UNKNOWN)) {
            items[i].time = convert(relate, items[i].time, &error);
            items[i].clock_part = relate->piece.part;
        }
        items[i].error_ns = (uint32_t)MIN(error, (int64_t)UINT32_MAX);
        if (likely(items[i].kind != ITEM_LOSS))
            continue;
        if (items[i].since != TIME_UNKNOWN)
            items[i].since = convert(relate, items[i].since, &error);
        else if (relate->since != TIME_UNKNOWN && items[i].time != TIME_UNKNOWN)
            items[i].since = MIN(relate->since, items[i].time);
    }
}

static int64_t relate_input_time(struct transform *each, int64_t time)
{
    return clock_map_ticks(container_of(each, struct relate, each)->clock_map, time);
}

static void relate_error(struct transform *each, struct item *items, unsigned n)
{
    const struct relate *relate = container_of(each, struct relate, each);

    for (unsigned i = 0; i < n; i++) {
        items[i].error_ns = relate->error_ns;
        items[i].clock_part = 0;
    }
}

static void relate_free(struct transform *each)
{
    free(container_of(each, struct relate, each));
}

static int open_stage(struct source *source, const struct relate *as, struct source **ret_source)
{
    struct relate *relate = malloc(sizeof *relate);

    if (!relate) {
        source_free(source);
        return -ENOMEM;
    }
    *relate = *as;
    return transform_open(source, &relate->each, ret_source);
}

int clock_convert_open(struct source *source, const struct clock_map *clock_map, int64_t since,
                       struct source **ret_source)
{
    const struct relate relate = {.each = {relate_times, relate_free, relate_input_time},
                                  .clock_map = clock_map,
                                  .since = since};

    return open_stage(source, &relate, ret_source);
}

int clock_convert_error_open(struct source *source, uint32_t error_ns, struct source **ret_source)
{
    const struct relate relate = {.each = {relate_error, relate_free}, .error_ns = error_ns};

    return open_stage(source, &relate, ret_source);
}
