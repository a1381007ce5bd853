/* SPDX-License-Identifier: MIT */
#include "timeline/late.h"

#include <stdlib.h>

#include "base/macro.h"
#include "timeline/transform.h"

struct late_count {
    struct transform each;
    int64_t newest;
    uint64_t n;
    const struct origin *origin;
};

static _cold_ void note_late(struct late_count *late, const struct item *item)
{
    if (item->kind != ITEM_EVENT || item->time == TIME_UNKNOWN)
        return;
    if (late->n++ == 0)
        late->origin = item->origin;
}

static void count(struct transform *each, struct item *items, unsigned n)
{
    struct late_count *late = container_of(each, struct late_count, each);
    int64_t newest = late->newest;

    for (unsigned i = 0; i < n; i++) {
        if (unlikely(items[i].time < newest))
            note_late(late, &items[i]);
        else if (likely(items[i].kind == ITEM_EVENT))
            newest = items[i].time;
    }
    late->newest = newest;
}

static void late_free(struct transform *each)
{
    free(container_of(each, struct late_count, each));
}

int late_count_open(struct source *input, struct source **ret_source,
                    const struct late_count **ret_count)
{
    struct late_count *late = malloc(sizeof *late);
    int r;

    if (!late) {
        source_free(input);
        return -ENOMEM;
    }
    *late = (struct late_count){.each = {.change = count, .free = late_free}, .newest = INT64_MIN};
    r = transform_open(input, &late->each, ret_source);
    *ret_count = r == 0 ? late : NULL;
    return r;
}

uint64_t late_count(const struct late_count *count)
{
    return count->n;
}

const struct origin *late_origin(const struct late_count *count)
{
    return count->origin;
}
