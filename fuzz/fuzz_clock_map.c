/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/clock_map.h"

/* The first 8 bytes are the step between the ticks that are told, the rest a file of pairs: whatever it says, times
 * do not step backwards, bounds are none below 0, and pieces tell what single conversions do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clock_map clock_map;
    struct clock_map_piece piece = {0};
    int64_t last = INT64_MIN;
    int64_t ticks;
    uint64_t step;

    if (size < sizeof step)
        return 0;
    memcpy(&step, data, sizeof step);
    if (clock_map_parse((const char *)data + sizeof step, size - sizeof step, "f",
                        step & 1 ? 1000000000 : 0, &clock_map, NULL) < 0)
        return 0;
    if (step & 2 && clock_map_set_steady(&clock_map) < 0)
        abort();
    step |= 1;
    ticks = (int64_t)((uint64_t)clock_map.pairs[0].ticks - 100 * step);
    for (unsigned i = 0; i < 300; i++) {
        int64_t error, same_error, time;

        if (!clock_map_piece_holds(&piece, ticks))
            clock_map_find(&clock_map, ticks, &piece);
        if (!clock_map_piece_holds(&piece, ticks))
            abort();
        time = clock_map_piece_convert(&piece, ticks, &error);
        if (error < 0 || time < last)
            abort();
        if (clock_map_convert(&clock_map, ticks, &same_error) != time || same_error != error)
            abort();
        if (clock_map_bound(&clock_map, ticks, ticks) < error)
            abort();
        last = time;
        if (ticks > INT64_MAX - (int64_t)(step & INT64_MAX))
            break;
        ticks = (int64_t)((uint64_t)ticks + (step & INT64_MAX));
    }
    clock_map_done(&clock_map);
    return 0;
}
