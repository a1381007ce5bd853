/* SPDX-License-Identifier: MIT */
#include "print/sparkline.h"

#include "base/macro.h"

void sparkline_put(struct text *text, const uint64_t *values, const bool *lost, unsigned n)
{
    static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t largest = 0;

    for (unsigned i = 0; i < n; i++)
        largest = MAX(largest, values[i]);
    for (unsigned i = 0; i < n; i++) {
        /* So that the largest has the last level, and none that is not 0 is blank. */
        double level = largest == 0
                           ? 0
                           : (double)values[i] / (double)largest * (double)(int)ARRAY_SIZE(levels);

        if (lost && lost[i])
            text_put_str(text, "·");
        else if (values[i] == 0)
            text_put_char(text, ' ');
        else
            text_put_str(text, levels[MIN((size_t)level, ARRAY_SIZE(levels) - 1)]);
    }
}
