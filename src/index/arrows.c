/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "index/internal.h"

static int compare_length(const void *a, const void *b)
{
    const struct index_arrow *x = a;
    const struct index_arrow *y = b;
    uint64_t x_length = ns_between(x->begin, x->end);
    uint64_t y_length = ns_between(y->begin, y->end);

    return x_length > y_length ? -1 : x_length < y_length;
}

static int compare_end(const void *a, const void *b)
{
    const struct index_arrow *x = a;
    const struct index_arrow *y = b;

    return x->end < y->end ? -1 : x->end > y->end;
}

/* Returns the first of N arrows that ends at or after NS. */
static uint64_t find(const struct index_arrow *arrows, uint64_t n, int64_t ns)
{
    uint64_t low = 0;

    while (low < n) {
        uint64_t mid = low + (n - low) / 2;

        if (arrows[mid].end < ns)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

int index_arrows(const struct index *index, int64_t from, int64_t to, unsigned max,
                 struct index_arrow **ret_arrows, unsigned *ret_n, uint64_t *ret_total)
{
    uint64_t n;
    uint64_t n_begins;
    const struct index_arrow *arrows = index_table(index, SECTION_ARROWS, sizeof *arrows, &n);
    const int64_t *begins = index_table(index, SECTION_ARROW_BEGINS, sizeof *begins, &n_begins);
    size_t room = 64, total = 0;
    struct index_arrow *list = malloc(room * sizeof *list);

    if (!list)
        return -ENOMEM;
    for (uint64_t i = find(arrows, n, from); i < n; i++) {
        const struct index_arrow *arrow = &arrows[i];

        if (i % ARROWS_PER_BEGIN == 0 && i / ARROWS_PER_BEGIN < n_begins &&
            begins[i / ARROWS_PER_BEGIN] > to)
            break;
        if (arrow->begin > to || arrow->end < from || arrow->end < arrow->begin ||
            arrow->from_track >= index->summary.n_tracks ||
            arrow->to_track >= index->summary.n_tracks)
            continue;
        if (total == room) {
            struct index_arrow *bigger = realloc(list, room * 2 * sizeof *list);

            if (!bigger) {
                free(list);
                return -ENOMEM;
            }
            list = bigger;
            room *= 2;
        }
        list[total++] = *arrow;
    }
    *ret_total = total;
    if (total > max) {
        qsort(list, total, sizeof *list, compare_length);
        total = max;
        qsort(list, total, sizeof *list, compare_end);
    }
    *ret_arrows = list;
    *ret_n = (unsigned)MIN(total, (size_t)UINT32_MAX);
    return 0;
}
