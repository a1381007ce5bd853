/* SPDX-License-Identifier: MIT */
#include "analysis/tally_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

void tally_done(struct tally *tally)
{
    for (unsigned i = 0; i < tally->n_rows; i++) {
        if (tally->rows[i].distances)
            histogram_done(tally->rows[i].distances);
        free(tally->rows[i].distances);
        for (struct tally_period *period = tally->rows[i].periods; period; period = period->next)
            if (period->distances)
                histogram_done(period->distances);
    }
    free(tally->gaps);
    tally_cover_done(&tally->cover);
    arena_done(&tally->arena);
    text_done(&tally->text);
    free(tally->rows);
    free(tally->row_of_class);
    map_done(&tally->numbers);
    map_done(&tally->periods);
    *tally = (struct tally){0};
}

int tally_make_rows(struct tally *tally, unsigned n)
{
    if (n > tally->capacity) {
        unsigned capacity = MAX(MAX(n, tally->capacity * 2), 64u);
        struct tally_row *bigger = realloc(tally->rows, capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        tally->rows = bigger;
        tally->capacity = capacity;
    }
    memset(tally->rows + tally->n_rows, 0, (n - tally->n_rows) * sizeof *tally->rows);
    tally->n_rows = n;
    return 0;
}

/* Handles rare cases: the first event of a row, a time that is unknown or steps back, the first distance. */
static _cold_ int add_rare(struct tally_row *row, const struct item *item)
{
    if (row->count++ == 0)
        *row = (struct tally_row){
            .count = 1,
            .first = TIME_UNKNOWN,
            .last = TIME_UNKNOWN,
            .origin = item->origin,
            .class = item->class,
            .cpu = item->cpu,
            .pid = item->pid,
            .vcpu = item->vcpu,
        };
    if (item->time == TIME_UNKNOWN)
        return 0;
    if (row->first == TIME_UNKNOWN) {
        row->first = item->time;
    } else if (item->time >= row->last && !row->distances) {
        row->distances = calloc(1, sizeof *row->distances);
        if (!row->distances)
            return -ENOMEM;
        if (histogram_add(row->distances, (uint64_t)item->time - (uint64_t)row->last) < 0)
            return -ENOMEM;
        row->max_at = row->last;
    }
    row->last = item->time;
    return 0;
}

static inline int add_to_row(struct tally_row *row, const struct item *item)
{
    uint64_t distance;

    if (unlikely(!row->distances || item->time < row->last))
        return add_rare(row, item);
    row->count++;
    distance = (uint64_t)item->time - (uint64_t)row->last;
    if (unlikely(distance > row->distances->max))
        row->max_at = row->last;
    if (unlikely(histogram_add(row->distances, distance) < 0))
        return -ENOMEM;
    row->last = item->time;
    return 0;
}

bool tally_is_same_event(const struct origin *origin_a, const struct event_class *a,
                         const struct origin *origin_b, const struct event_class *b)
{
    return origin_a->layer == origin_b->layer && strcmp(a->name, b->name) == 0 &&
           strcmp(a->group ? a->group : "", b->group ? b->group : "") == 0;
}

/* Handles the first event of a class. */
static _cold_ int add_class(struct tally *tally, const struct item *item)
{
    unsigned class = item->class->stat_row, row = 0;
    int r;

    if (class >= tally->n_classes) {
        unsigned n = MAX(class + 1, tally->n_classes * 2);
        unsigned *bigger = realloc(tally->row_of_class, n * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        memset(bigger + tally->n_classes, 0, (n - tally->n_classes) * sizeof *bigger);
        tally->row_of_class = bigger;
        tally->n_classes = n;
    }
    while (row < tally->n_rows &&
           !tally_is_same_event(tally->rows[row].origin, tally->rows[row].class, item->origin,
                                item->class))
        row++;
    if (row == tally->n_rows) {
        r = tally_make_rows(tally, row + 1);
        if (r < 0)
            return r;
    }
    r = add_to_row(&tally->rows[row], item);
    if (r >= 0)
        tally->row_of_class[class] = row + 1;
    return r;
}

static int add_by_event(struct tally *tally, const struct item *item)
{
    unsigned class = item->class->stat_row;

    if (unlikely(class >= tally->n_classes || tally->row_of_class[class] == 0))
        return add_class(tally, item);
    return add_to_row(&tally->rows[tally->row_of_class[class] - 1], item);
}

static int add_by_source_event(struct tally *tally, const struct item *item)
{
    unsigned row = item->class->stat_row;

    if (unlikely(row >= tally->n_rows)) {
        int r = tally_make_rows(tally, row + 1);
        if (r < 0)
            return r;
    }
    return add_to_row(&tally->rows[row], item);
}

/* CPUs and tasks have the same numbers in different traces. */
uint64_t tally_key_of(const struct tally *tally, const struct item *item)
{
    uint64_t origin = (uint64_t)(uintptr_t)item->origin << 34;

    if (tally->by == TALLY_BY_CPU)
        return origin | (uint32_t)item->cpu;
    if (tally->by == TALLY_BY_LAYER)
        return item->origin->layer;
    if (tally->by == TALLY_BY_VCPU)
        return origin | (uint32_t)item->vcpu;
    if (item->pid == PID_UNKNOWN)
        return origin | (uint64_t)1 << 32 | (uint32_t)item->vcpu;
    return origin | (uint32_t)item->pid;
}

int tally_find_row(struct tally *tally, uint64_t key, unsigned *ret_row)
{
    uintptr_t number = (uintptr_t)map_get(&tally->numbers, key);

    if (number == 0) {
        int r = tally_make_rows(tally, tally->n_rows + 1);
        if (r < 0)
            return r;
        number = tally->n_rows;
        r = map_put(&tally->numbers, key, (void *)number);
        if (r < 0)
            return r;
    }
    *ret_row = (unsigned)number - 1;
    return 0;
}

static int add_by_key(struct tally *tally, const struct item *item)
{
    uint64_t key = tally_key_of(tally, item);

    if (unlikely(key != tally->last_key || tally->last_row == UINT32_MAX)) {
        int r = tally_find_row(tally, key, &tally->last_row);
        if (r < 0)
            return r;
        tally->last_key = key;
    }
    return add_to_row(&tally->rows[tally->last_row], item);
}

static _cold_ void put_loss(struct tally *tally, const struct item *loss)
{
    losses_add(&tally->losses, loss);
    losses_add(&tally->layers.losses[loss->origin->layer], loss);
    tally->gap.lost = true;
}

/* Items that are not counted tell how long their source was recorded. */
static int tally_pass(struct sink *sink, const struct item *items, unsigned n)
{
    return tally_cover_put(&container_of(sink, struct tally, sink)->cover, items, n);
}

static int tally_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct tally *tally = container_of(sink, struct tally, sink);
    uint64_t count = 0;

    if (tally_cover_put(&tally->cover, items, n) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        int r;

        if (unlikely(item->kind != ITEM_EVENT)) {
            put_loss(tally, item);
            continue;
        }
        count++;
        if (unlikely(tally->first == TIME_UNKNOWN))
            tally->first = tally->last = item->time;
        if (likely(item->time != TIME_UNKNOWN))
            tally->first = MIN(tally->first, item->time);
        tally->last = MAX(tally->last, item->time);
        if (likely(tally->by == TALLY_BY_EVENT))
            r = add_by_event(tally, item);
        else if (tally->by == TALLY_BY_SOURCE_EVENT)
            r = add_by_source_event(tally, item);
        else
            r = add_by_key(tally, item);
        if (unlikely(r < 0))
            return r;
    }
    tally->count += count;
    return 0;
}

/* ---- Keys, periods and gaps ---- */

static int name_keys(struct tally *tally, struct tally_row *row, const struct item *item)
{
    for (unsigned i = 0; i < tally->options.grouping.n; i++) {
        tally->text.next = tally->text.start;
        grouping_put(&tally->options.grouping, i, item, &tally->text);
        if (tally->text.error)
            return -ENOMEM;
        row->keys[i] = arena_strndup(&tally->arena, tally->text.start ? tally->text.start : "",
                                     text_len(&tally->text));
        if (!row->keys[i])
            return -ENOMEM;
    }
    return 0;
}

static int add_key_row(struct tally *tally, uint64_t key, const uint64_t *numbers,
                       const struct item *item)
{
    static const char *const others[GROUPING_KEYS] = {"(others)", "", "", ""};
    bool is_full = tally->n_rows >= TALLY_KEY_ROWS_MAX;
    int r = 0;

    if (tally->n_rows <= TALLY_KEY_ROWS_MAX)
        r = tally_make_rows(tally, tally->n_rows + 1);
    tally->last_row = tally->n_rows - 1;
    if (r >= 0 && !is_full)
        r = map_put(&tally->numbers, key, (void *)(uintptr_t)tally->n_rows);
    if (r < 0)
        return r;
    /* add_rare() clears a row that has no event: so it comes before the names. */
    r = add_to_row(&tally->rows[tally->last_row], item);
    if (r < 0)
        return r;
    if (is_full) {
        memcpy(tally->rows[tally->last_row].keys, others, sizeof others);
        return 0;
    }
    memcpy(tally->rows[tally->last_row].numbers, numbers,
           tally->options.grouping.n * sizeof *numbers);
    return name_keys(tally, &tally->rows[tally->last_row], item);
}

uint64_t tally_key_of_numbers(const struct grouping *grouping, const uint64_t *numbers)
{
    uint64_t key = numbers[0];

    for (unsigned i = 1; i < grouping->n; i++)
        key = (key ^ key >> 31) * UINT64_C(0x9e3779b97f4a7c15) + numbers[i];
    return key;
}

/* True if events of ITEM's class have the fields. Call after grouping_numbers(). */
static bool has_keys(const struct grouping *grouping)
{
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping->keys[i].kind == GROUP_BY_FIELD && grouping->keys[i].field < 0)
            return false;
    return true;
}

/* Returns 1 if ITEM lacks the fields and is left out. */
static int add_by_keys(struct tally *tally, const struct item *item)
{
    uint64_t numbers[GROUPING_KEYS], key;
    uintptr_t number;

    grouping_numbers(&tally->options.grouping, item, numbers);
    if (!has_keys(&tally->options.grouping)) {
        tally->n_without_keys++;
        return 1;
    }
    key = tally_key_of_numbers(&tally->options.grouping, numbers);
    number = (uintptr_t)map_get(&tally->numbers, key);
    if (unlikely(number == 0))
        return add_key_row(tally, key, numbers, item);
    tally->last_row = (unsigned)number - 1;
    return add_to_row(&tally->rows[tally->last_row], item);
}

static _cold_ struct tally_period *add_period(struct tally *tally, struct tally_row *row,
                                              uint32_t number, uint64_t key)
{
    struct tally_period *period = arena_alloc(&tally->arena, sizeof *period);

    if (!period || map_put(&tally->periods, key, period) < 0)
        return NULL;
    *period = (struct tally_period){.next = row->periods, .number = number};
    row->periods = period;
    row->n_periods++;
    return period;
}

struct tally_period *tally_find_period(struct tally *tally, struct tally_row *row, uint32_t number)
{
    uint64_t key = (uint64_t)(row - tally->rows) * TALLY_PERIODS_MAX + number;
    struct tally_period *period = map_get(&tally->periods, key);

    return period ? period : add_period(tally, row, number, key);
}

struct histogram *tally_period_distances(struct tally *tally, struct tally_period *period)
{
    if (!period->distances) {
        period->distances = arena_alloc(&tally->arena, sizeof *period->distances);
        if (period->distances)
            *period->distances = (struct histogram){0};
    }
    return period->distances;
}

static int add_distance(struct tally *tally, struct tally_period *period, uint64_t distance)
{
    struct histogram *distances = tally_period_distances(tally, period);

    return distances ? histogram_add(distances, distance) : -ENOMEM;
}

uint32_t tally_period_number(struct tally *tally, int64_t time)
{
    uint64_t number = 0;

    if (time > tally->periods_begin)
        number = ((uint64_t)time - (uint64_t)tally->periods_begin) / (uint64_t)tally->options.every;
    if (number >= TALLY_PERIODS_MAX) {
        tally->has_late_periods = true;
        number = TALLY_PERIODS_MAX - 1;
    }
    return (uint32_t)number;
}

static int count_period(struct tally *tally, struct tally_row *row, int64_t time)
{
    uint32_t number;
    int64_t before = row->n_periods > 0 ? row->counted_until : TIME_UNKNOWN;
    struct tally_period *period = row->period;

    if (tally->periods_begin == TIME_UNKNOWN)
        tally->periods_begin = time;
    number = tally_period_number(tally, time);
    if (!period || period->number != number) {
        period = tally_find_period(tally, row, number);
        if (!period)
            return -ENOMEM;
        row->period = period;
    }
    period->count++;
    row->counted_until = time;
    return tally->options.period_distances && before != TIME_UNKNOWN && time >= before
               ? add_distance(tally, period, (uint64_t)time - (uint64_t)before)
               : 0;
}

static int compare_periods(const void *a, const void *b)
{
    const struct tally_period *const *v = a, *const *w = b;

    return ((*v)->number > (*w)->number) - ((*v)->number < (*w)->number);
}

int tally_sort_periods(const struct tally_row *row, const struct tally_period ***ret)
{
    const struct tally_period **periods = malloc((row->n_periods + 1) * sizeof *periods);
    unsigned n = 0;

    if (!periods)
        return -ENOMEM;
    for (const struct tally_period *period = row->periods; period; period = period->next)
        periods[n++] = period;
    qsort(periods, n, sizeof *periods, compare_periods);
    *ret = periods;
    return 0;
}

/* Counts ITEM in the row last_row. Returns 1 if it is left out. */
static int add_event(struct tally *tally, const struct item *item)
{
    if (tally->by == TALLY_BY_KEYS)
        return add_by_keys(tally, item);
    if (tally->by == TALLY_BY_SOURCE_EVENT) {
        tally->last_row = item->class->stat_row;
        return add_by_source_event(tally, item);
    }
    if (tally->by == TALLY_BY_EVENT) {
        int r = add_by_event(tally, item);

        if (r >= 0)
            tally->last_row = tally->row_of_class[item->class->stat_row] - 1;
        return r;
    }
    return add_by_key(tally, item);
}

static int add_interval(struct tally *tally, struct tally_row *row, int64_t time)
{
    if (unlikely(!row->intervals)) {
        row->intervals = arena_alloc(&tally->arena, sizeof *row->intervals);
        if (!row->intervals)
            return -ENOMEM;
    }
    interval_batches_add(row->intervals, time);
    return 0;
}

static int tally_put_more(struct sink *sink, const struct item *items, unsigned n)
{
    struct tally *tally = container_of(sink, struct tally, sink);

    if (tally_cover_put(&tally->cover, items, n) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        struct tally_row *row;
        int r;

        if (item->kind != ITEM_EVENT) {
            put_loss(tally, item);
            continue;
        }
        if (tally->first == TIME_UNKNOWN)
            tally->first = tally->last = item->time;
        if (item->time != TIME_UNKNOWN) {
            tally->first = MIN(tally->first, item->time);
            if (tally->options.gaps > 0)
                tally_count_gap(tally, item);
        }
        tally->last = MAX(tally->last, item->time);
        r = add_event(tally, item);
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        tally->count++;
        row = &tally->rows[tally->last_row];
        if (tally->options.has_intervals) {
            r = add_interval(tally, row, item->time);
            if (r < 0)
                return r;
        }
        if (tally->options.every > 0 && item->time != TIME_UNKNOWN) {
            r = count_period(tally, row, item->time);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

void tally_init(struct tally *tally, enum tally_by by)
{
    static const struct sink_ops ops = {.put = tally_put, .pass = tally_pass};

    *tally = (struct tally){.sink = {.ops = &ops},
                            .by = by,
                            .last_row = UINT32_MAX,
                            .text = TEXT_IN_MEMORY,
                            .periods_begin = TIME_UNKNOWN,
                            .first = TIME_UNKNOWN,
                            .last = TIME_UNKNOWN};
}

int tally_init_with(struct tally *tally, const struct tally_options *options)
{
    static const struct sink_ops ops = {.put = tally_put_more, .pass = tally_pass};

    tally_init(tally, options->by);
    tally->options = *options;
    tally->options.gaps = MIN(options->gaps, (unsigned)TALLY_GAPS_MAX);
    if (tally->options.gaps > 0) {
        tally->gaps = calloc(tally->options.gaps, sizeof *tally->gaps);
        if (!tally->gaps)
            return -ENOMEM;
    }
    if (options->by == TALLY_BY_KEYS || options->every > 0 || options->gaps > 0 ||
        options->has_intervals)
        tally->sink.ops = &ops;
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct tally_row *x = *(const struct tally_row *const *)a;
    const struct tally_row *y = *(const struct tally_row *const *)b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    /* In their order: by their first event. */
    return x < y ? -1 : 1;
}

/* Equal counts are ordered by name, because numbers of classes depend on what is read first. */
static int compare_events(const void *a, const void *b)
{
    const struct tally_row *x = *(const struct tally_row *const *)a;
    const struct tally_row *y = *(const struct tally_row *const *)b;
    const char *group_x = x->class->group ? x->class->group : "";
    const char *group_y = y->class->group ? y->class->group : "";
    int r = 0;

    if (x->count == y->count) {
        r = strcmp(x->class->name, y->class->name);
        r = r ? r : strcmp(group_x, group_y);
        r = r ? r : (x->origin->layer > y->origin->layer) - (x->origin->layer < y->origin->layer);
        r = r || !x->origin->path || !y->origin->path ? r
                                                      : strcmp(x->origin->path, y->origin->path);
    }
    return r ? r : compare_rows(a, b);
}

int tally_sorted(const struct tally *tally, const struct tally_row ***ret_rows, unsigned *ret_n)
{
    const struct tally_row **rows = malloc((tally->n_rows ? tally->n_rows : 1) * sizeof *rows);
    unsigned n = 0;

    if (!rows)
        return -ENOMEM;
    for (unsigned i = 0; i < tally->n_rows; i++)
        if (tally->rows[i].count)
            rows[n++] = &tally->rows[i];
    qsort(rows, n, sizeof *rows,
          tally->by == TALLY_BY_EVENT || tally->by == TALLY_BY_SOURCE_EVENT ? compare_events
                                                                            : compare_rows);
    *ret_rows = rows;
    *ret_n = n;
    return 0;
}
