/* SPDX-License-Identifier: MIT */
/* Fits marks in one order, or in none, to a line: a straight one, or a piecewise one if the clocks'
 * rates drift. */

#include <math.h>

#include "base/macro.h"
#include "timeline/clock_fit_internal.h"

/* Each piece has this many marks and ns at least. */
#define PIECE_MARKS 32
#define PIECE_NS 1e9
#define PIECES_MAX 1024

/* A line in pieces: its height above that of `slope` at each of N + 1 places. */
struct pieces {
    double *at;
    double *height;
    unsigned n;
};

static void pieces_done(struct pieces *pieces)
{
    free(pieces->at);
    free(pieces->height);
}

static double height_at(const struct pieces *pieces, double x)
{
    unsigned low = 0, high = pieces->n;

    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;

        if (pieces->at[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    if (pieces->at[high] <= pieces->at[low])
        return pieces->height[low];
    return pieces->height[low] + (pieces->height[high] - pieces->height[low]) *
                                     (x - pieces->at[low]) / (pieces->at[high] - pieces->at[low]);
}

/* The first mark at or after X. */
static size_t first_from(const struct clock_fit_state *work, double x)
{
    size_t low = 0, high = work->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (work->x[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The median height of the marks from LOW to HIGH; of all marks if there are none in that range. */
static double height_around(const struct clock_fit_state *work, double low, double high)
{
    size_t n = 0;

    for (size_t i = first_from(work, low); i < work->n && work->x[i] <= high; i++)
        if (!(work->outside[i] & MARK_OUTSIDE))
            work->scratch[n++] = work->y[i] - work->slope * work->x[i];
    if (n == 0)
        return height_around(work, -INFINITY, INFINITY);
    return clock_fit_median(work->scratch, n);
}

static int make_pieces(const struct clock_fit_state *work, unsigned n, struct pieces *ret)
{
    double span = clock_fit_span(work);
    struct pieces pieces = {.n = n,
                            .at = calloc(n + 1, sizeof *pieces.at),
                            .height = calloc(n + 1, sizeof *pieces.height)};

    if (!pieces.at || !pieces.height) {
        pieces_done(&pieces);
        return -ENOMEM;
    }
    for (unsigned i = 0; i <= n; i++) {
        double half = span / n / 2;

        pieces.at[i] = span * i / n;
        /* A single piece is a line: it has one height. */
        pieces.height[i] = n > 1 ? height_around(work, pieces.at[i] - half, pieces.at[i] + half)
                                 : height_around(work, -INFINITY, INFINITY);
    }
    *ret = pieces;
    return 0;
}

/* The spread of the marks above and below the line. */
static void spread_around(const struct clock_fit_state *work, const struct pieces *pieces,
                          double *ret_low, double *ret_high)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < work->n; i++) {
        double off = work->y[i] - work->slope * work->x[i] - height_at(pieces, work->x[i]);

        if (work->outside[i])
            continue;
        low = MIN(low, off);
        high = MAX(high, off);
    }
    *ret_low = low;
    *ret_high = high;
}

/* Late marks do not define the line either. */
static void count_late(const struct clock_fit_state *work, struct clock_fit *fit)
{
    for (size_t i = 0; i < work->n; i++)
        fit->n_outside += work->outside[i] == MARK_LATE;
}

static int64_t worst_error(const struct clock_fit_state *work)
{
    int64_t worst = 0;

    for (size_t i = 0; i < work->n; i++)
        worst = MAX(worst, work->marks[i].error_ns);
    return worst;
}

/* Puts the pairs of LINE, shifted up by SHIFT. */
static int put_line(const struct clock_fit_state *work, struct clock_fit *fit,
                    const struct pieces *line, double shift, double error)
{
    unsigned n = clock_fit_span(work) > 0 ? line->n + 1 : 1;

    fit->pairs = calloc(n, sizeof *fit->pairs);
    if (!fit->pairs)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        clock_fit_put_pair(work, fit, line->at[i],
                           work->slope * line->at[i] + line->height[i] + shift, error);
    return 0;
}

int clock_fit_line(const struct clock_fit_state *work, struct clock_fit *fit,
                   enum clock_fit_order order)
{
    double seconds = clock_fit_span(work) * work->slope / PIECE_NS;
    size_t most = MIN(work->n / PIECE_MARKS, (size_t)PIECES_MAX);
    unsigned n = seconds < (double)most ? (unsigned)seconds : (unsigned)most;
    struct pieces line = {0}, bent = {0};
    double low, high, shift = 0, error;
    int r = make_pieces(work, 1, &line);

    if (r < 0)
        return r;
    spread_around(work, &line, &low, &high);
    if (n > 1) {
        double bent_low, bent_high;

        r = make_pieces(work, n, &bent);
        if (r < 0) {
            pieces_done(&line);
            return r;
        }
        spread_around(work, &bent, &bent_low, &bent_high);
        if ((bent_high - bent_low) * 2 < high - low) {
            struct pieces kept = bent;

            bent = line;
            line = kept;
            low = bent_low;
            high = bent_high;
        }
    }
    if (order == CLOCK_FIT_REFERENCE_FIRST)
        shift = high;
    else if (order == CLOCK_FIT_REFERENCE_LAST)
        shift = low;
    error = MAX(high - shift, shift - low) + (double)worst_error(work);
    count_late(work, fit);
    r = put_line(work, fit, &line, shift, error);
    pieces_done(&line);
    pieces_done(&bent);
    if (r < 0)
        return r;
    fit->kind = work->n < 3                    ? CLOCK_FIT_ERROR_UNKNOWN
                : order == CLOCK_FIT_ANY_ORDER ? CLOCK_FIT_ERROR_SPREAD
                                               : CLOCK_FIT_ERROR_ONE_WAY;
    return 0;
}
