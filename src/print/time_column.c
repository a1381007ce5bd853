/* SPDX-License-Identifier: MIT */
#include "print/time_column.h"

/* Up to this rate, a second's ticks times 10^9 fit into 64 bits. */
#define HZ_MAX (UINT64_MAX / NANOSECONDS)

char *time_column_slow(struct time_column *column, const struct clock *clock, char *p, int64_t time)
{
    uint64_t hz = clock->hz;
    uint64_t second;

    *column = (struct time_column){.clock = *clock};
    if (hz == 0 && time >= TIME_COLUMN_TICKS) {
        uint64_t kept = (uint64_t)time / TIME_COLUMN_TICKS;

        column->second_start = (int64_t)(kept * TIME_COLUMN_TICKS);
        column->second_ticks = TIME_COLUMN_TICKS;
        column->digits = (unsigned)(number_dec(column->second, kept) - column->second);
        return time_column_put(column, clock, p, time);
    }
    if (hz == 0)
        return number_sdec(p, time);
    if (time < 0 || hz > HZ_MAX) {
        int64_t ns = clock_to_ns(clock, time);
        return number_seconds(p, ns);
    }

    second = (uint64_t)time / hz;
    column->second_start = (int64_t)(second * hz);
    column->second_ticks = hz;
    column->reciprocal = UINT64_MAX / hz + (UINT64_MAX % hz == hz - 1 && hz > 1);
    column->digits = (unsigned)(number_dec(column->second, second) - column->second);
    column->second[column->digits++] = '.';
    return time_column_put(column, clock, p, time);
}
