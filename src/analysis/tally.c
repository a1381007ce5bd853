/* SPDX-License-Identifier: MIT */
#include "analysis/tally.h"

#include <string.h>

#include "base/macro.h"

void tally_done(struct tally *tally)
{
    for (unsigned i = 0; i < tally->n_rows; i++) {
        if (tally->rows[i].distances)
            histogram_done(tally->rows[i].distances);
        free(tally->rows[i].distances);
    }
    free(tally->rows);
    free(tally->row_of_class);
    map_done(&tally->numbers);
    *tally = (struct tally){0};
}

/* Makes rows up to number N - 1. */
static int make_rows(struct tally *tally, unsigned n)
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

/* What is rare: the first of a row, a time that is not known or steps back, the first distance. */
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
    }
    row->last = item->time;
    return 0;
}

static inline int add_to_row(struct tally_row *row, const struct item *item)
{
    if (unlikely(!row->distances || item->time < row->last))
        return add_rare(row, item);
    row->count++;
    if (unlikely(histogram_add(row->distances, (uint64_t)item->time - (uint64_t)row->last) < 0))
        return -ENOMEM;
    row->last = item->time;
    return 0;
}

static bool is_same_event(const struct tally_row *row, const struct item *item)
{
    const struct event_class *a = row->class, *b = item->class;

    return row->origin->layer == item->origin->layer && strcmp(a->name, b->name) == 0 &&
           strcmp(a->group ? a->group : "", b->group ? b->group : "") == 0;
}

/* The first of a class. */
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
    while (row < tally->n_rows && !is_same_event(&tally->rows[row], item))
        row++;
    if (row == tally->n_rows) {
        r = make_rows(tally, row + 1);
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
        int r = make_rows(tally, row + 1);
        if (r < 0)
            return r;
    }
    return add_to_row(&tally->rows[row], item);
}

/* CPUs and tasks have the same numbers in different traces. */
static uint64_t key_of(const struct tally *tally, const struct item *item)
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

static int find_row(struct tally *tally, uint64_t key, unsigned *ret_row)
{
    uintptr_t number = (uintptr_t)map_get(&tally->numbers, key);

    if (number == 0) {
        int r = make_rows(tally, tally->n_rows + 1);
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
    uint64_t key = key_of(tally, item);

    if (unlikely(key != tally->last_key || tally->last_row == UINT32_MAX)) {
        int r = find_row(tally, key, &tally->last_row);
        if (r < 0)
            return r;
        tally->last_key = key;
    }
    return add_to_row(&tally->rows[tally->last_row], item);
}

static int tally_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct tally *tally = container_of(sink, struct tally, sink);
    uint64_t count = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        int r;

        if (unlikely(item->kind != ITEM_EVENT)) {
            losses_add(&tally->losses, item);
            losses_add(&tally->layers.losses[item->origin->layer], item);
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

void tally_init(struct tally *tally, enum tally_by by)
{
    static const struct sink_ops ops = {.put = tally_put};

    *tally = (struct tally){.sink = {.ops = &ops},
                            .by = by,
                            .last_row = UINT32_MAX,
                            .first = TIME_UNKNOWN,
                            .last = TIME_UNKNOWN};
}

static int compare_rows(const void *a, const void *b)
{
    const struct tally_row *x = *(const struct tally_row *const *)a;
    const struct tally_row *y = *(const struct tally_row *const *)b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    /* In their order: classes by their index, other rows by their first event. */
    return x < y ? -1 : 1;
}

/* Equal counts are ordered by the class's index, whichever occurs first. */
static int compare_events(const void *a, const void *b)
{
    const struct tally_row *x = *(const struct tally_row *const *)a;
    const struct tally_row *y = *(const struct tally_row *const *)b;

    return x->count == y->count && x->class->stat_row != y->class->stat_row
               ? (x->class->stat_row < y->class->stat_row ? -1 : 1)
               : compare_rows(a, b);
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
    qsort(rows, n, sizeof *rows, tally->by == TALLY_BY_EVENT ? compare_events : compare_rows);
    *ret_rows = rows;
    *ret_n = n;
    return 0;
}
