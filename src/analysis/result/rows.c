/* SPDX-License-Identifier: MIT */
#include "analysis/result/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/ticks.h"

int rows_init(struct rows *rows, unsigned n_keys, unsigned slowest_max, int64_t every,
              bool has_batches)
{
    *rows = (struct rows){.n_keys = n_keys,
                          .every = every,
                          .has_batches = has_batches,
                          .periods_begin = TIME_UNKNOWN,
                          .text = TEXT_IN_MEMORY};
    return slowest_init(&rows->slowest, slowest_max);
}

void rows_done(struct rows *rows)
{
    for (unsigned i = 0; i < rows->n; i++) {
        histogram_done(&rows->rows[i]->durations);
        for (unsigned j = 0; j < rows->rows[i]->n_periods; j++)
            histogram_done(&rows->rows[i]->periods[j].durations);
        free(rows->rows[i]->periods);
    }
    free(rows->rows);
    free(rows->buckets);
    slowest_done(&rows->slowest);
    source_ends_done(&rows->ends);
    text_done(&rows->text);
    arena_done(&rows->arena);
    *rows = (struct rows){0};
}

void rows_set_grouping(struct rows *rows, const struct grouping *grouping)
{
    rows->moves = grouping_moves(grouping);
    for (unsigned i = 0; i < grouping->n; i++) {
        rows->by_cpu |= grouping->keys[i].kind == GROUP_BY_CPU;
        rows->by_vcpu |= grouping->keys[i].kind == GROUP_BY_VCPU;
    }
}

static inline uint32_t hash(const uint64_t *numbers, unsigned n)
{
    uint64_t h = n;

    for (unsigned i = 0; i < n; i++) {
        h = hash_mix(h, numbers[i]);
    }
    return (uint32_t)(h >> 32 ^ h);
}

static inline bool has_numbers(const struct rows *rows, const struct row *row,
                               const uint64_t *numbers)
{
    for (unsigned i = 0; i < rows->n_keys; i++)
        if (row->numbers[i] != numbers[i])
            return false;
    return true;
}

static inline struct row **get_recent(struct rows *rows, const uint64_t *numbers)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < rows->n_keys; i++)
        sum += numbers[i];
    return &rows->recent[sum % ROWS_RECENT];
}

struct row *rows_find(struct rows *rows, const uint64_t *numbers)
{
    struct row **recent = get_recent(rows, numbers);

    if (likely(*recent && has_numbers(rows, *recent, numbers)))
        return *recent;
    if (rows->n_buckets == 0)
        return NULL;
    for (uint32_t i = hash(numbers, rows->n_keys);; i++) {
        uint32_t n = rows->buckets[i & (rows->n_buckets - 1)];

        if (n == 0)
            return NULL;
        if (has_numbers(rows, rows->rows[n - 1], numbers)) {
            *recent = rows->rows[n - 1];
            return *recent;
        }
    }
}

static int grow(struct rows *rows)
{
    unsigned n = MAX(rows->n_buckets * 2, 64u);
    uint32_t *buckets = calloc(n, sizeof *buckets);
    struct row **more = realloc(rows->rows, (n / 2 + 1) * sizeof(struct row *));

    if (more)
        rows->rows = more;
    if (!buckets || !more) {
        free(buckets);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t at = hash(more[i]->numbers, rows->n_keys);

        while (buckets[at & (n - 1)] != 0)
            at++;
        buckets[at & (n - 1)] = i + 1;
    }
    free(rows->buckets);
    rows->buckets = buckets;
    rows->n_buckets = n;
    return 0;
}

static struct row *add(struct rows *rows, const uint64_t *numbers, const char *const *keys)
{
    struct row *row;
    uint32_t at;

    if (rows->n >= rows->n_buckets / 2 && grow(rows) < 0)
        return NULL;
    row = arena_alloc(&rows->arena, sizeof *row);
    if (!row)
        return NULL;
    for (unsigned i = 0; i < rows->n_keys; i++) {
        row->numbers[i] = numbers[i];
        row->keys[i] = arena_strdup(&rows->arena, keys[i]);
        if (!row->keys[i])
            return NULL;
    }
    if (rows->has_batches) {
        row->batches = arena_alloc(&rows->arena, sizeof *row->batches);
        if (!row->batches)
            return NULL;
    }
    at = hash(numbers, rows->n_keys);
    while (rows->buckets[at & (rows->n_buckets - 1)] != 0)
        at++;
    row->number = rows->n;
    rows->rows[rows->n++] = row;
    rows->buckets[at & (rows->n_buckets - 1)] = rows->n;
    *get_recent(rows, numbers) = row;
    return row;
}

/* The row of all groups beyond the limit, which is the last one. */
static struct row *get_others(struct rows *rows)
{
    static const char *const others[ROW_KEYS] = {"(others)", "", "", "", "", ""};
    static const uint64_t numbers[ROW_KEYS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                               UINT64_MAX, UINT64_MAX, UINT64_MAX};

    return rows->n > ROWS_MAX ? rows->rows[ROWS_MAX] : add(rows, numbers, others);
}

struct row *rows_add(struct rows *rows, const uint64_t *numbers, const char *const *keys)
{
    return rows->n >= ROWS_MAX ? get_others(rows) : add(rows, numbers, keys);
}

_cold_ void row_add_source(struct row *row, const struct coverage_pair *pair)
{
    for (unsigned i = 0; i < row->n_sources; i++)
        if (coverage_pair_is(&row->sources[i], pair))
            return;
    if (row->n_sources < COVERAGE_PAIRS_MAX)
        row->sources[row->n_sources++] = *pair;
    else
        row->has_more_sources = true;
}

/* Makes room for period NUMBER. */
static _cold_ int more_periods(struct row *row, unsigned number)
{
    unsigned n = row->n_periods;
    unsigned first = n > 0 ? MIN(row->first_period, number) : number;
    unsigned before = n > 0 ? row->first_period - first : 0;
    unsigned room = before > 0 ? before + n : MAX(number - first + 1, n * 2);
    struct row_period *periods;

    room = MIN(room, ROW_PERIODS_MAX - first);
    periods = realloc(row->periods, room * sizeof *periods);
    if (!periods)
        return -ENOMEM;
    memmove(periods + before, periods, n * sizeof *periods);
    memset(periods, 0, before * sizeof *periods);
    memset(periods + before + n, 0, (room - before - n) * sizeof *periods);
    row->periods = periods;
    row->first_period = first;
    row->n_periods = room;
    return 0;
}

static int count_period(struct rows *rows, struct row *row, int64_t begin, int64_t duration)
{
    struct row_period *period;
    uint64_t number = 0;

    if (rows->periods_begin == TIME_UNKNOWN)
        rows->periods_begin = begin;
    if (begin > rows->periods_begin)
        number = ((uint64_t)begin - (uint64_t)rows->periods_begin) / (uint64_t)rows->every;
    if (number >= ROW_PERIODS_MAX)
        return -ERANGE;
    if (number - row->first_period >= row->n_periods && more_periods(row, (unsigned)number) < 0)
        return -ENOMEM;
    rows->n_periods = MAX(rows->n_periods, (unsigned)number + 1);
    period = &row->periods[number - row->first_period];
    period->sum = ticks_sum(period->sum, duration);
    return histogram_add(&period->durations, duration < 0 ? 0 : (uint64_t)duration);
}

int row_count(struct rows *rows, struct row *row, int64_t begin, int64_t duration,
              uint32_t error_ns)
{
    if (unlikely(histogram_add(&row->durations, duration < 0 ? 0 : (uint64_t)duration) < 0))
        return -ENOMEM;
    if (row->n == 0 || duration < row->min)
        row->min = duration;
    if (row->n == 0 || duration > row->max) {
        row->max = duration;
        row->max_at = begin;
    }
    row->n++;
    row->n_negative += duration < 0;
    row->sum = wide_add(row->sum, wide_of(duration));
    row->error_max = MAX(row->error_max, error_ns);
    if (unlikely(row->batches != NULL)) {
        batches_add(&row->batches->durations, duration);
        interval_batches_add(&row->batches->intervals, ticks_sum(begin, duration));
    }
    return rows->every > 0 ? count_period(rows, row, begin, duration) : 0;
}
