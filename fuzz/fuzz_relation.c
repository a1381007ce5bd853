/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/relation.h"

/* The first 8 bytes are the step between the ticks that are told, the rest a file of pairs: whatever it says, times
 * do not step backwards, bounds are none below 0, and pieces tell what single conversions do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct relation relation;
    struct relation_piece piece = {0};
    int64_t last = INT64_MIN;
    int64_t ticks;
    uint64_t step;

    if (size < sizeof step)
        return 0;
    memcpy(&step, data, sizeof step);
    if (relation_parse((const char *)data + sizeof step, size - sizeof step, "f",
                       step & 1 ? 1000000000 : 0, &relation, NULL) < 0)
        return 0;
    if (step & 2 && relation_set_steady(&relation) < 0)
        abort();
    step |= 1;
    ticks = (int64_t)((uint64_t)relation.pairs[0].ticks - 100 * step);
    for (unsigned i = 0; i < 300; i++) {
        int64_t error, same_error, time;

        if (!relation_piece_holds(&piece, ticks))
            relation_find(&relation, ticks, &piece);
        if (!relation_piece_holds(&piece, ticks))
            abort();
        time = relation_piece_convert(&piece, ticks, &error);
        if (error < 0 || time < last)
            abort();
        if (relation_convert(&relation, ticks, &same_error) != time || same_error != error)
            abort();
        if (relation_bound(&relation, ticks, ticks) < error)
            abort();
        last = time;
        if (ticks > INT64_MAX - (int64_t)(step & INT64_MAX))
            break;
        ticks = (int64_t)((uint64_t)ticks + (step & INT64_MAX));
    }
    relation_done(&relation);
    return 0;
}
