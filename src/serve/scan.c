/* SPDX-License-Identifier: MIT */
#include "serve/scan.h"

#include "base/macro.h"

/* Limits of slices per piece, unless the piece is 1 ns long. */
#define PIECE_MAX 65536u
#define PIECE_FEW 8192u

void scan_init(struct scan *scan, const struct index *index, uint32_t track, unsigned depth,
               int64_t from, int64_t to, uint64_t n_max)
{
    const struct index_summary *summary = index_summary(index);

    from = MAX(from, summary->begin);
    to = MIN(to, summary->end);
    *scan = (struct scan){
        .index = index, .track = track, .depth = depth, .from = from, .to = to, .n_max = n_max};
    scan->period = from <= to ? to - from + 1 : 0;
}

void scan_done(struct scan *scan)
{
    index_slices_done(&scan->slices);
}

/* Finds the end (included) of a piece that begins at scan->from. */
static int find_end(struct scan *scan, int64_t *ret_end)
{
    for (;;) {
        int64_t left = scan->to - scan->from + 1;
        int64_t period = MIN(scan->period, left);
        uint64_t n = 0;
        int r = index_counts(scan->index, scan->track, scan->from, scan->from + period, 1, &n);

        if (r < 0)
            return r;
        if (n <= PIECE_MAX || period <= 1) {
            *ret_end = scan->from + period - 1;
            scan->period = n < PIECE_FEW && period <= INT64_MAX / 2 ? period * 2 : period;
            return 0;
        }
        scan->period = period / 2;
    }
}

int scan_next(struct scan *scan, const struct index_slice **ret_slices, unsigned *ret_n)
{
    struct index_slices *slices = &scan->slices;
    unsigned first = 0;
    int64_t end;
    int r;

    if (scan->from > scan->to || scan->period <= 0)
        return 0;
    r = find_end(scan, &end);
    slices->n = 0;
    if (r == 0)
        r = index_slices(scan->index, scan->track, scan->depth, scan->from, end, 0, slices);
    if (r < 0)
        return r;
    while (scan->started && first < slices->n && slices->slices[first].begin < scan->from)
        first++;
    scan->n += slices->n - first;
    if (scan->n > scan->n_max)
        return -E2BIG;
    scan->started = true;
    scan->from = end + 1;
    *ret_slices = slices->slices + first;
    *ret_n = slices->n - first;
    return 1;
}
