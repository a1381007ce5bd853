/* SPDX-License-Identifier: MIT */
#include "analysis/result/result.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/macro.h"
#include "base/map.h"
#include "base/text.h"
#include "base/ticks.h"

const char *result_kind_name(enum result_kind kind)
{
    static const char *const names[] = {
        [RESULT_COUNT] = "count", [RESULT_DURATION] = "duration", [RESULT_TIME] = "time",
        [RESULT_ERROR] = "error", [RESULT_RATE] = "rate",         [RESULT_SHARE] = "share",
        [RESULT_TEXT] = "text",
    };

    return names[kind];
}

void result_init(struct result *result, const char *analysis, const struct clock *clock,
                 const struct coverage *coverage)
{
    *result = (struct result){.analysis = analysis, .clock = *clock, .coverage = coverage};
}

void result_done(struct result *result)
{
    free(result->rows);
    free(result->slowest);
    free(result->notes);
    arena_done(&result->arena);
    *result = (struct result){0};
}

unsigned result_add_key(struct result *result, const char *name, const char *title, bool is_number)
{
    assert(result->n_keys < RESULT_KEYS && result->n_rows == 0);
    result->keys[result->n_keys] = (struct result_key){name, title, is_number};
    return result->n_keys++;
}

unsigned result_add_column(struct result *result, const char *name, const char *title,
                           enum result_kind kind)
{
    assert(result->n_columns < RESULT_COLUMNS && result->n_rows == 0);
    result->columns[result->n_columns] = (struct result_column){name, title, kind};
    return result->n_columns++;
}

int result_find_column(const struct result *result, const char *name)
{
    for (unsigned i = 0; i < result->n_columns; i++)
        if (strcmp(result->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

int result_match_column(const struct result *result, const char *text)
{
    int column = result_find_column(result, text);

    for (unsigned i = 0; i < result->n_columns && column < 0; i++)
        if (strcasecmp(result->columns[i].name, text) == 0)
            column = (int)i;
    if (column >= 0)
        return column;
    for (unsigned i = 0; i < result->n_columns; i++) {
        const char *title = result->columns[i].title;

        if (!title || strcasecmp(title, text) != 0)
            continue;
        if (column >= 0)
            return -1;
        column = (int)i;
    }
    return column;
}

struct result_row *result_add_row(struct result *result)
{
    struct result_row *row = arena_alloc(&result->arena, sizeof *row);

    if (!row)
        return NULL;
    row->values = arena_alloc(&result->arena, MAX(result->n_columns, 1u) * sizeof *row->values);
    if (!row->values)
        return NULL;
    for (unsigned i = 0; i < RESULT_KEYS; i++)
        row->keys[i] = "-";
    if (result->n_rows == result->rows_room) {
        unsigned room = MAX(result->rows_room * 2, 16u);
        struct result_row **rows = realloc(result->rows, room * sizeof(struct result_row *));

        if (!rows)
            return NULL;
        result->rows = rows;
        result->rows_room = room;
    }
    result->rows[result->n_rows++] = row;
    return row;
}

int result_set_key(struct result *result, struct result_row *row, unsigned key, const char *text)
{
    const char *copy = arena_strdup(&result->arena, text);

    assert(key < result->n_keys);
    if (!copy)
        return -ENOMEM;
    row->keys[key] = copy;
    return 0;
}

void result_set_key_number(struct result_row *row, unsigned key, int64_t number)
{
    row->numbers[key] = number;
    row->has_number |= 1u << key;
}

void result_set_number(struct result_row *row, unsigned column, int64_t number)
{
    row->values[column].number = number;
    row->has_value |= UINT64_C(1) << column;
}

void result_set_unknown(struct result_row *row, unsigned column)
{
    row->has_value &= ~(UINT64_C(1) << column);
    row->is_unknown |= UINT64_C(1) << column;
}

void result_refute_errors(struct result *result)
{
    result->is_error_refuted = true;
    for (unsigned column = 0; column < result->n_columns; column++)
        for (unsigned i = 0; result->columns[column].kind == RESULT_ERROR && i < result->n_rows;
             i++) {
            struct result_row *row = result->rows[i];

            if (result_has(row, column) && row->values[column].number != 0)
                result_set_unknown(row, column);
        }
}

static bool is_of_times(enum result_kind kind)
{
    return kind == RESULT_DURATION || kind == RESULT_ERROR || kind == RESULT_RATE ||
           kind == RESULT_SHARE;
}

/* Makes COLUMN unknown in all rows. */
static void forget_column(struct result *result, unsigned column)
{
    for (unsigned i = 0; i < result->n_rows; i++)
        if (result_has(result->rows[i], column))
            result_set_unknown(result->rows[i], column);
}

int result_forget_times(struct result *result)
{
    if (!clock_is_order(&result->clock))
        return 0;
    for (unsigned column = 0; column < result->n_columns; column++)
        if (is_of_times(result->columns[column].kind) ||
            strcmp(result->columns[column].name, "max_at") == 0)
            forget_column(result, column);
    for (unsigned i = 0; i < result->n_rows; i++) {
        struct result_row *row = result->rows[i];

        row->durations = NULL;
        row->batches = row->intervals = NULL;
        row->n_periods = 0;
        row->is_whole = false;
        row->longest_part = NULL;
    }
    result->n_slowest = 0;
    result->n_periods = 0;
    result->recorder.waited = 0;
    return result_add_note(result,
                           "the trace has no times, only the order of its events: durations "
                           "are unknown%s",
                           strcmp(result->clock.name, "line") == 0
                               ? "; for times in its log, start QEMU with -msg timestamp=on"
                               : "; record with another clock than counter");
}

void result_set_part(struct result_row *row, unsigned column, int64_t part, int64_t unknown)
{
    if (part == 0 && unknown > 0)
        result_set_unknown(row, column);
    else
        result_set_number(row, column, part);
}

void result_set_real(struct result_row *row, unsigned column, double real)
{
    if (!isfinite(real))
        return;
    row->values[column].real = real;
    row->has_value |= UINT64_C(1) << column;
}

double result_number(const struct result *result, const struct result_row *row, unsigned column)
{
    union result_value value = row->values[column];

    if (!result_has(row, column))
        return NAN;
    switch (result->columns[column].kind) {
    case RESULT_COUNT:
    case RESULT_ERROR: return (double)value.number;
    case RESULT_DURATION:
    case RESULT_TIME:
        return result->clock.hz == 0
                   ? (double)value.number
                   : (double)value.number * ((double)NANOSECONDS / (double)result->clock.hz);
    case RESULT_RATE:
    case RESULT_SHARE: return value.real;
    case RESULT_TEXT: break;
    }
    return NAN;
}

bool result_is_empty(const struct result *result)
{
    bool has = result->n_slowest > 0;

    for (unsigned i = 0; i < result->n_rows && !has; i++)
        for (unsigned j = 0; j < result->n_columns && !has; j++) {
            double number = result_number(result, result->rows[i], j);

            has = result->columns[j].title &&
                  (result_is_unknown(result->rows[i], j) || (!isnan(number) && number != 0));
        }
    return !has;
}

/* *RET is NULL if WHY is. */
static int copy_sentences(struct result *result, const char *const *why, const char *const **ret)
{
    const char **copies;
    unsigned n = 0;

    *ret = NULL;
    if (!why)
        return 0;
    while (why[n])
        n++;
    copies = arena_alloc(&result->arena, (n + 1) * sizeof *copies);
    if (!copies)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        copies[i] = arena_strdup(&result->arena, why[i]);
        if (!copies[i])
            return -ENOMEM;
    }
    *ret = copies;
    return 0;
}

static int copy_stages(struct result *result, struct result_slow *slow)
{
    struct result_stage *stages;

    if (slow->n_stages == 0)
        return 0;
    stages = arena_memdup(&result->arena, slow->stages, slow->n_stages * sizeof *stages);
    if (!stages)
        return -ENOMEM;
    for (unsigned i = 0; i < slow->n_stages; i++) {
        stages[i].name = arena_strdup(&result->arena, stages[i].name);
        if (!stages[i].name || copy_sentences(result, stages[i].why, &stages[i].why) < 0)
            return -ENOMEM;
    }
    slow->stages = stages;
    return 0;
}

int result_add_slow(struct result *result, const struct result_slow *slow)
{
    struct result_slow copy = *slow;

    if (copy_stages(result, &copy) < 0 || copy_sentences(result, slow->why, &copy.why) < 0)
        return -ENOMEM;
    if (result->n_slowest == result->slowest_room) {
        unsigned room = MAX(result->slowest_room * 2, 16u);
        struct result_slow *slowest = realloc(result->slowest, room * sizeof *slowest);

        if (!slowest)
            return -ENOMEM;
        result->slowest = slowest;
        result->slowest_room = room;
    }
    result->slowest[result->n_slowest++] = copy;
    return 0;
}

int result_add_note(struct result *result, const char *format, ...)
{
    const char **notes = realloc(result->notes, (result->n_notes + 1) * sizeof *notes);
    char note[512];
    va_list ap;

    if (!notes)
        return -ENOMEM;
    result->notes = notes;
    va_start(ap, format);
    vsnprintf(note, sizeof note, format, ap);
    va_end(ap);
    notes[result->n_notes] = arena_strdup(&result->arena, note);
    if (!notes[result->n_notes])
        return -ENOMEM;
    result->n_notes++;
    return 0;
}

double result_covered_seconds(const struct result *result, const struct origin *origin)
{
    if (result->clock.hz == 0)
        return 0;
    return (double)coverage_covered(result->coverage, origin) / (double)result->clock.hz;
}

struct sort_order {
    const struct result *result;
    unsigned column;
};

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct result_row *const *x = a, *const *y = b;
    const struct sort_order *order = arg;
    double v = result_number(order->result, *x, order->column);
    double w = result_number(order->result, *y, order->column);

    if (isnan(v) != isnan(w))
        return isnan(v) ? 1 : -1;
    if (!isnan(v) && v != w)
        return v < w ? 1 : -1;
    for (unsigned i = 0; i < order->result->n_keys; i++) {
        int difference = strcmp((*x)->keys[i], (*y)->keys[i]);

        if (difference != 0)
            return difference;
    }
    return 0;
}

static int compare_slow(const void *a, const void *b)
{
    const struct result_slow *x = a, *y = b;
    int64_t v = ticks_between(x->begin, x->end), w = ticks_between(y->begin, y->end);

    if (x->is_open != y->is_open)
        return x->is_open ? 1 : -1;
    if (v != w)
        return v < w ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

void result_sort(struct result *result, unsigned column)
{
    struct sort_order order = {result, column};

    if (result->n_rows > 0 && column != RESULT_IN_ORDER)
        qsort_r(result->rows, result->n_rows, sizeof(struct result_row *), compare_rows, &order);
    if (result->n_slowest > 0)
        qsort(result->slowest, result->n_slowest, sizeof *result->slowest, compare_slow);
}

static uint64_t hash_keys(const struct result *result, const struct result_row *row)
{
    uint64_t hash = 0;

    for (unsigned i = 0; i < result->n_keys; i++)
        hash = hash_mix(hash, hash_bytes(row->keys[i], strlen(row->keys[i])));
    return hash;
}

/* Returns 1 if rows of several sources have the same keys; 0; -ENOMEM. Rows of one source never have. */
static int has_same_keys(const struct result *result)
{
    struct map rows = {0};
    int r = 0;

    for (unsigned i = 0; i < result->n_rows && r == 0; i++) {
        struct result_row *row = result->rows[i];
        uint64_t hash = hash_keys(result, row);
        const struct result_row *other = map_get(&rows, hash);
        bool is_same = other && other->origin != row->origin;

        for (unsigned j = 0; j < result->n_keys && is_same; j++)
            is_same = strcmp(row->keys[j], other->keys[j]) == 0;
        r = is_same ? 1 : map_put(&rows, hash, row);
    }
    map_done(&rows);
    return r;
}

/* If rows add up several sources: the key for which each source has values of its own, or "" for other keys. NULL if
 * they do not. */
static const char *find_added_up(const struct result *result)
{
    const char *found = "";
    bool has_more = false;

    for (unsigned i = 0; i < result->n_keys; i++) {
        const char *name = result->keys[i].name;

        if (strcmp(name, "source") == 0 || strcmp(name, "vm") == 0)
            return NULL;
        if (strcmp(name, "cpu") == 0 || strcmp(name, "vcpu") == 0 || strcmp(name, "pid") == 0)
            found = name;
    }
    for (unsigned i = 0; i < result->n_rows && !has_more; i++)
        has_more = result->rows[i]->adds_up;
    return has_more ? found : NULL;
}

int result_add_source_key(struct result *result)
{
    int r = has_same_keys(result);

    if (r > 0 && result->n_keys < RESULT_KEYS) {
        result->keys[result->n_keys++] = (struct result_key){"source", "SOURCE", false};
        for (unsigned i = 0; i < result->n_rows; i++) {
            struct result_row *row = result->rows[i];

            row->keys[result->n_keys - 1] = row->origin ? row->origin->path : "-";
        }
    }
    return MIN(r, 0);
}

int result_note_sources(struct result *result)
{
    const char *name = find_added_up(result);

    if (!name)
        return 0;
    if (!name[0])
        return result_add_note(result, "rows add up several sources; --by=source separates them");
    return result_add_note(
        result, "rows by %s add up several sources; --by=source,%s separates them", name, name);
}
