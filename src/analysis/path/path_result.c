/* SPDX-License-Identifier: MIT */
/* What `strata path` found, as a result. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_internal.h"
#include "base/macro.h"
#include "event/clock_error.h"

/* Of 100 intervals, one is one of the slowest. */
#define SLOW_PART 100

void path_add_columns(struct analysis *analysis, struct result *result)
{
    struct path *path = path_of_analysis(analysis);

    result_add_key(result, "of", "OF", false);
    result_add_key(result, "layer", "LAYER", false);
    result_add_key(result, "who", "WHO", false);
    result_add_key(result, "what", "WHAT", false);
    result_add_key(result, "cause", "CAUSE", false);
    path->part = result_add_column(result, "part", "PART%", RESULT_SHARE);
    path->slow = result_add_column(result, "slow_part", "SLOW%", RESULT_SHARE);
    path->rest = result_add_column(result, "rest_part", "REST%", RESULT_SHARE);
    result_add_duration_columns(result, &analysis->settings.percentiles, &path->columns);
}

/* What is in buckets from FROM on, and before UNTIL. */
static int64_t sum_of(const struct path_sums *sums, unsigned from, unsigned until)
{
    int64_t sum = 0;

    for (unsigned i = from; i < until; i++) {
        const int64_t *doubling = sums->doublings[i >> HISTOGRAM_SUB_BITS];

        if (doubling)
            sum += doubling[i & ((1u << HISTOGRAM_SUB_BITS) - 1)];
    }
    return sum;
}

/* The first bucket of the slowest. */
static unsigned find_slow(const struct path_group *group)
{
    uint64_t n = MAX(group->all.n / SLOW_PART, 1u);

    return histogram_bucket_at(&group->all, group->all.n - n + 1);
}

static uint64_t count_slow(const struct path_group *group, unsigned slow)
{
    uint64_t n = 0;

    for (unsigned i = slow; i < HISTOGRAM_BUCKETS; i++)
        n += histogram_count(&group->all, i);
    return n;
}

/* Nothing is slow of a trace without times. */
static int note_slow(struct result *result, const struct path_group *group, unsigned slow)
{
    _cleanup_(text_done) struct text of = TEXT_IN_MEMORY;
    uint64_t n = count_slow(group, slow), least = histogram_bucket_start(slow);
    char buf[32];

    if (clock_is_order(&result->clock)) /* no durations */
        return 0;
    path_put_group(group, &of);
    return of.error ? -ENOMEM
                    : result_add_note(result,
                                      "%.*s: SLOW%% is of the %" PRIu64 " of %" PRIu64
                                      " that took %s%s or longer, REST%% of the others",
                                      (int)text_len(&of), of.start, n, group->all.n,
                                      duration_text(buf, sizeof buf, &result->clock, least),
                                      result->clock.hz == 0 ? " ticks" : "");
}

/* ---- the longest ---- */

static const char *keep(struct result *result, struct text *text)
{
    const char *s = text->error ? NULL : arena_strndup(&result->arena, text->start, text_len(text));

    text_done(text);
    *text = TEXT_IN_MEMORY;
    return s;
}

/* "qemu-3  waits for CPU 1, behind sh-12 62%; behind cc-5 30%": of those that ran, each with a tenth of it, and what is unknown. */
static void put_segment(const struct path_chain *chain, const struct path_segment *segment,
                        struct text *text)
{
    int64_t duration = segment->end - segment->begin;

    path_put_who(segment, true, text);
    text_printf(text, "  %s", path_what_name(segment));
    if (segment->what == PATH_WAITS && segment->cpu >= 0) {
        text->next -= strlen("a CPU");
        text_printf(text, "CPU %" PRId32, segment->cpu);
    }
    for (unsigned i = 0; i < segment->n_behind; i++) {
        const struct path_behind *behind = &chain->behind[segment->first_behind + i];

        if (i > 0 && behind->ticks < duration / 10 && behind->by != RUN_UNKNOWN)
            continue;
        text_put_str(text, i == 0 ? ", " : "; ");
        path_put_cause(segment, behind, true, text);
        if (segment->n_behind > 1)
            text_printf(text, " %.0f%%", (double)behind->ticks * 100 / (double)duration);
    }
    if (segment->n_behind == 0 &&
        (segment->what >= PATH_TIMER || segment->what == PATH_EXIT || segment->call)) {
        text_put_literal(text, "  ");
        path_put_cause(segment, NULL, true, text);
    }
}

static void add_why(const struct result *result, struct result_stage *stage)
{
    static const char *const either[] = {
        "shorter than the error of the clocks: it may belong to its neighbours", NULL};
    double ns = result->clock.hz > 0
                    ? (double)(stage->end - stage->begin) * 1e9 / (double)result->clock.hz
                    : 0;

    if (stage->error_ns > 0 && ns < (double)stage->error_ns)
        stage->why = either;
}

/* True if both would be the same line: a thread that went on at another CPU, or from one stage of a request to the next. Shares of
 * what ran meanwhile are those of each line. */
static bool joins(const struct result_stage *first, const struct result_stage *second)
{
    return first->end == second->begin && first->layer == second->layer &&
           strcmp(first->name, second->name) == 0 && !strchr(first->name, '%');
}

static const char *name_of(const struct path *path, const struct path_chain *chain,
                           const struct slow_span *slow, struct result *result)
{
    const struct path_group *group = &path->groups[chain->group];
    struct text text = TEXT_IN_MEMORY;
    char device[IO_DEVICE_SIZE];

    path_put_group(group, &text);
    if (group->origin)
        text_printf(&text, " of %s", io_device_text(device, slow->origin->layer, chain->device));
    if (group->origin && slow->origin->layer != LAYER_VMM && group->kind != IO_FLUSH)
        text_printf(&text, " sector %" PRIu64, chain->sector);
    return keep(result, &text);
}

static int add_slow(const struct path *path, struct result *result, const struct slow_span *slow)
{
    const struct path_chain *chain = slow->kind;
    struct result_stage *stages = arena_alloc(&result->arena, MAX(chain->n, 1u) * sizeof *stages);
    struct result_slow copy = {.begin = slow->begin,
                               .end = slow->end,
                               .error_ns = slow->error_ns,
                               .cpu = slow->cpu,
                               .pid = slow->pid,
                               .vcpu = slow->vcpu,
                               .origin = slow->origin,
                               .stages = stages};
    struct text text = TEXT_IN_MEMORY;

    copy.name = name_of(path, chain, slow, result);
    if (!stages || !copy.name)
        return -ENOMEM;
    for (unsigned i = 0; i < chain->n; i++) {
        const struct path_segment *segment = &chain->segments[i];
        struct result_stage stage = {.begin = segment->begin,
                                     .end = segment->end,
                                     .error_ns = segment->error_ns,
                                     .layer = segment->origin ? layer_name(segment->origin->layer)
                                                              : "?"};

        put_segment(chain, segment, &text);
        stage.name = keep(result, &text);
        if (!stage.name)
            return -ENOMEM;
        if (copy.n_stages > 0 && joins(&stages[copy.n_stages - 1], &stage)) {
            stages[copy.n_stages - 1].end = stage.end;
            stages[copy.n_stages - 1].error_ns =
                clock_errors_sum(stages[copy.n_stages - 1].error_ns, stage.error_ns);
        } else {
            stages[copy.n_stages++] = stage;
        }
    }
    for (unsigned i = 0; i < copy.n_stages; i++)
        add_why(result, &stages[i]);
    return result_add_slow(result, &copy);
}

/* ---- all ---- */

/* The last row may be of any group (ROWS_MAX). */
static int64_t total_of(const struct path *path, const struct row *row)
{
    return row->numbers[0] < path->n_groups ? path->groups[row->numbers[0]].total : 0;
}

/* Guests' requests before those that a VMM or the host makes for them. */
static unsigned group_rank(const struct path *path, const struct row *row)
{
    static const unsigned ranks[LAYERS] = {[LAYER_VMM] = 1, [LAYER_HOST] = 2, [LAYER_PROGRAM] = 2};
    const struct origin *origin =
        row->numbers[0] < path->n_groups ? path->groups[row->numbers[0]].origin : NULL;

    return origin ? ranks[origin->layer] : LAYERS;
}

/* Rows of the group with the most time first, and in it the rows with the most time. */
static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct path *path = arg;
    const struct row *x = path->rows.rows[*(const unsigned *)a];
    const struct row *y = path->rows.rows[*(const unsigned *)b];
    int64_t of_x = total_of(path, x), of_y = total_of(path, y);
    unsigned rank_x = group_rank(path, x), rank_y = group_rank(path, y);

    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    if (x->numbers[0] != y->numbers[0])
        return of_x != of_y ? (of_x < of_y) - (of_x > of_y)
                            : (x->numbers[0] > y->numbers[0]) - (x->numbers[0] < y->numbers[0]);
    if (wide_compare(x->sum, y->sum) != 0)
        return -wide_compare(x->sum, y->sum);
    return (x->number > y->number) - (x->number < y->number);
}

static int order_rows(const struct path *path, struct result *result)
{
    unsigned *order = arena_alloc(&result->arena, MAX(path->rows.n, 1u) * sizeof *order);
    struct result_row **rows =
        arena_alloc(&result->arena, MAX(path->rows.n, 1u) * sizeof(struct result_row *));

    if (!order || !rows)
        return -ENOMEM;
    for (unsigned i = 0; i < path->rows.n; i++)
        order[i] = i;
    qsort_r(order, path->rows.n, sizeof *order, compare_rows, (void *)(uintptr_t)path);
    for (unsigned i = 0; i < path->rows.n; i++)
        rows[i] = result->rows[order[i]];
    if (path->rows.n > 0)
        memcpy((void *)result->rows, (const void *)rows,
               path->rows.n * sizeof(struct result_row *));
    return 0;
}

/* The shares of the rows of group number I. */
static int add_parts(const struct path *path, struct result *result, unsigned number)
{
    const struct path_group *group = &path->groups[number];
    unsigned slow = group->all.n > 0 ? find_slow(group) : 0;
    int64_t total = 0;

    for (unsigned i = 0; i < path->rows.n; i++)
        if (path->rows.rows[i]->numbers[0] == number)
            total += sum_of(&path->sums[i], slow, HISTOGRAM_BUCKETS);
    for (unsigned i = 0; i < path->rows.n; i++) {
        struct result_row *row = result->rows[i];
        int64_t of_slow, of_rest;

        if (path->rows.rows[i]->numbers[0] != number)
            continue;
        of_slow = sum_of(&path->sums[i], slow, HISTOGRAM_BUCKETS);
        of_rest = sum_of(&path->sums[i], 0, slow);
        row->is_own = path->sums[i].is_own;
        result_set_real(row, path->part, (double)(of_slow + of_rest) / (double)group->total);
        result_set_real(row, path->slow, (double)of_slow / (double)total);
        result_set_real(row, path->rest, (double)of_rest / (double)(group->total - total));
    }
    return group->all.n > 0 && !clock_is_order(&result->clock) ? note_slow(result, group, slow) : 0;
}

int path_add_rows(struct analysis *analysis, struct result *result)
{
    const struct path *path = path_of_analysis(analysis);
    int r = result_add_duration_rows(result, &path->columns, &path->rows);

    for (unsigned i = 0; r >= 0 && i < path->n_groups; i++)
        r = add_parts(path, result, i);
    for (unsigned i = 0; r >= 0 && i < slowest_n(&path->rows.slowest); i++)
        r = add_slow(path, result, slowest_get(&path->rows.slowest, i));
    return r < 0 ? r : order_rows(path, result);
}

bool path_find_kind(const struct path *path, const char *of, struct path_kind *ret)
{
    bool found = false;

    for (unsigned i = 0; i < path->n_groups && !found; i++) {
        const struct path_group *group = &path->groups[i];
        _cleanup_(text_done) struct text name = TEXT_IN_MEMORY;

        path_put_group(group, &name);
        text_put_char(&name, '\0');
        found = !name.error && group->all.n > 0 && strcmp(name.start, of) == 0;
        if (found) {
            unsigned slow = find_slow(group);

            *ret = (struct path_kind){.n = group->all.n,
                                      .n_slow = count_slow(group, slow),
                                      .total = group->total,
                                      .p50 = (int64_t)histogram_quantile(&group->all, 500),
                                      .max = (int64_t)group->all.max,
                                      .slow = (int64_t)histogram_bucket_start(slow)};
        }
    }
    return found;
}
