/* SPDX-License-Identifier: MIT */
#include "analysis/diff_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/map.h"
#include "base/text.h"

static const char *const names[DIFF_METRICS] = {"rate", "sum", "mean", "p50", "p99", "max"};

const char *diff_metric_name(enum diff_metric metric)
{
    return names[metric];
}

int diff_metric_find(const char *name)
{
    for (unsigned i = 0; i < DIFF_METRICS; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

const char *diff_verdict_name(enum diff_verdict verdict)
{
    static const char *const verdicts[] = {NULL, "unknown", "same", "changed"};

    return verdicts[verdict];
}

static void set_values(struct diff_row *to, unsigned side, const struct result *result,
                       const struct result_row *from)
{
    int covered = result_find_column(result, "covered");
    double seconds = covered >= 0 && result->clock.hz > 0
                         ? result_number(result, from, (unsigned)covered) / NANOSECONDS
                         : NAN;

    to->from[side] = from;
    to->lacks_cpu |= from->lacks_cpu;
    for (unsigned i = 0; i < DIFF_METRICS; i++) {
        int column = result_find_column(result, names[i]);

        if (column >= 0)
            to->values[side][i] = result_number(result, from, (unsigned)column);
        if (i == DIFF_SUM)
            to->values[side][i] = seconds > 0 ? to->values[side][i] / 1e9 / seconds : NAN;
    }
}

/* The weight of a row is its time, or, without times, how often it occurs. */
static double get_weight(const struct diff_row *row)
{
    double weights[2];

    for (unsigned i = 0; i < 2; i++) {
        double v = row->values[i][DIFF_SUM];

        weights[i] = !row->from[i] ? 0 : isnan(v) ? row->values[i][DIFF_RATE] : v;
    }
    return isnan(weights[0] - weights[1]) ? 0 : fabs(weights[0] - weights[1]);
}

static int compare_rows(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;
    double v = get_weight(x), w = get_weight(y);
    bool has_x = x->verdict == DIFF_CHANGED, has_y = y->verdict == DIFF_CHANGED;

    if (has_x != has_y)
        return has_x ? -1 : 1;
    if (v != w)
        return v < w ? 1 : -1;
    for (unsigned i = 0; i < RESULT_KEYS && x->keys[i] && y->keys[i]; i++) {
        int order = strcmp(x->keys[i], y->keys[i]);

        if (order)
            return order;
    }
    return 0;
}

/* The key as the first trace has it. */
static const char *get_key(const struct diff *diff, unsigned side, const struct result_row *row,
                           unsigned key)
{
    return side == 0 ? row->keys[key] : diff_addresses_translate(&diff->addresses, row->keys[key]);
}

static struct diff_row *add_row(struct diff *diff, unsigned side, const struct result_row *from)
{
    const struct result *result = diff->results[side];
    struct diff_row *row = &diff->rows[diff->n++];

    *row = (struct diff_row){.verdict = DIFF_UNKNOWN};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < DIFF_METRICS; j++)
            row->values[i][j] = NAN;
    for (unsigned i = 0; i < result->n_keys; i++)
        row->keys[i] = get_key(diff, side, from, i);
    set_values(row, side, result, from);
    return row;
}

/* Adds ROW by all its keys, and its number among rows with the same keys. *RET_KEYS identifies it. */
static int map_row(struct map *map, struct arena *arena, const struct diff *diff, unsigned side,
                   struct result_row *row, const char **ret_keys)
{
    struct text text = TEXT_IN_MEMORY;
    int r = -ENOMEM;

    for (unsigned i = 0; i < diff->results[side]->n_keys; i++)
        text_printf(&text, "%s\n", get_key(diff, side, row, i));
    for (unsigned i = 0; !text.error; i++) {
        const char *keys;
        size_t len = text_len(&text);

        text_printf(&text, "%u", i);
        keys = text.error ? NULL : arena_strndup(arena, text.start, text_len(&text));
        text.next = text.start + len;
        if (!keys)
            break;
        if (map_get_str(map, keys, strlen(keys)))
            continue;
        *ret_keys = keys;
        r = map_put_str(map, keys, strlen(keys), row);
        break;
    }
    text_done(&text);
    return r;
}

static int join_rows(struct diff *diff, struct arena *arena, struct map maps[2])
{
    const struct result *a = diff->results[0], *b = diff->results[1];
    const char **a_keys = arena_alloc(arena, (a->n_rows + 1) * sizeof *a_keys);
    int r = a_keys ? 0 : -ENOMEM;

    for (unsigned i = 0; r >= 0 && i < a->n_rows; i++)
        r = map_row(&maps[0], arena, diff, 0, a->rows[i], &a_keys[i]);
    for (unsigned i = 0; r >= 0 && i < b->n_rows; i++) {
        const struct result_row *other;
        struct diff_row *row;
        const char *keys;

        r = map_row(&maps[1], arena, diff, 1, b->rows[i], &keys);
        if (r < 0)
            break;
        row = add_row(diff, 1, b->rows[i]);
        other = map_get_str(&maps[0], keys, strlen(keys));
        if (other)
            set_values(row, 0, a, other);
    }
    for (unsigned i = 0; r >= 0 && i < a->n_rows; i++)
        if (!map_get_str(&maps[1], a_keys[i], strlen(a_keys[i])))
            add_row(diff, 0, a->rows[i]);
    return r;
}

static void count_addresses(struct diff *diff)
{
    for (unsigned i = 0; i < diff->n; i++) {
        const struct diff_row *row = &diff->rows[i];
        bool has_address = false;

        for (unsigned j = 0; j < diff->results[0]->n_keys; j++)
            has_address |= diff_is_address(row->keys[j]);
        diff->n_addresses += has_address && (!row->from[0] || !row->from[1]);
    }
}

int diff_init(struct diff *diff, const struct result *a, const struct result *b)
{
    struct arena arena = {0};
    struct map maps[2] = {0};
    int r;

    *diff = (struct diff){.results = {a, b},
                          .lost = {a->coverage->losses.n > 0, b->coverage->losses.n > 0}};
    diff->rows = calloc((size_t)a->n_rows + b->n_rows + 1, sizeof *diff->rows);
    r = diff->rows ? diff_addresses_init(&diff->addresses, a, b) : -ENOMEM;
    if (r >= 0)
        r = join_rows(diff, &arena, maps);
    map_done(&maps[0]);
    map_done(&maps[1]);
    arena_done(&arena);
    if (r >= 0) {
        count_addresses(diff);
        diff_test_rows(diff);
        for (unsigned i = 0; i < 2 * diff->n; i++) {
            const struct result_row *from = diff->rows[i / 2].from[i % 2];

            diff->lacks_cpu[i % 2] |= from && from->lacks_cpu;
        }
    }
    /* What one trace lacks may have been on the CPU that it lacks. */
    for (unsigned i = 0; r >= 0 && i < diff->n; i++) {
        struct diff_row *row = &diff->rows[i];

        row->may_be_in_both =
            (!row->from[0] && diff->lacks_cpu[0]) || (!row->from[1] && diff->lacks_cpu[1]);
    }
    if (r >= 0 && diff->n > 0)
        qsort(diff->rows, diff->n, sizeof *diff->rows, compare_rows);
    return r;
}

void diff_done(struct diff *diff)
{
    free(diff->rows);
    diff_addresses_done(&diff->addresses);
    *diff = (struct diff){0};
}
