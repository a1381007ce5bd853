/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "cmocka_all.h"

#include <unistd.h>

#include "memory_source.h"
#include "timeline/late.h"
#include "timeline/merge.h"
#include "timeline/reorder.h"

#define N 5000

/* Items whose payload repeats their number, so that a payload that was not kept is seen. */
static struct item *make_items(unsigned n, int64_t (*time)(unsigned i))
{
    struct item *items = calloc(n, sizeof *items);
    uint32_t *numbers = calloc(n, sizeof *numbers);

    assert_non_null(items);
    assert_non_null(numbers);
    for (unsigned i = 0; i < n; i++) {
        numbers[i] = i;
        items[i].time = time(i);
        items[i].payload = (const uint8_t *)&numbers[i];
        items[i].size = 4;
        items[i].pid = (int32_t)i;
    }
    return items;
}

static void free_items(struct item *items)
{
    free((void *)items[0].payload);
    free(items);
}

/* Takes everything out of SOURCE; returns how many there were and checks payloads, and times where
 * they must be in order. */
static unsigned drain(struct source *source, bool ordered, int *ret_result, unsigned *seen)
{
    const struct item *items;
    int64_t last = INT64_MIN;
    unsigned total = 0;
    int n;

    while ((n = source_next(source, &items)) > 0) {
        for (int i = 0; i < n; i++) {
            uint32_t number;
            memcpy(&number, items[i].payload, 4);
            assert_int_equal(number, items[i].pid);
            if (ordered)
                assert_true(items[i].time >= last);
            last = items[i].time;
            if (seen)
                seen[number]++;
            total++;
        }
    }
    assert_int_equal(source_next(source, &items), n);
    *ret_result = n;
    return total;
}

static int64_t in_order(unsigned i)
{
    return (int64_t)i / 3;
}

static int64_t steps_back(unsigned i)
{
    return (int64_t)i - (int64_t)(i * 7919 % 50);
}

static int64_t backwards(unsigned i)
{
    return -(int64_t)i;
}

static void reorder_all(int64_t (*time)(unsigned), unsigned window, unsigned run, bool ordered)
{
    struct item *items = make_items(N, time);
    unsigned *seen = calloc(N, sizeof *seen);
    const struct late_count *late;
    struct source *source;
    int result;

    assert_int_equal(reorder_open(memory_source(items, N, run, 0), window, &source), 0);
    assert_int_equal(late_count_open(source, &source, &late), 0);
    assert_int_equal(drain(source, ordered, &result, seen), N);
    assert_int_equal(result, 0);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    assert_true(ordered == (late_count(late) == 0));
    source_free(source);
    free(seen);
    free_items(items);
}

static void reorder_keeps_what_is_in_order(void **state)
{
    (void)state;
    for (unsigned run = 1; run < 3000; run = run * 3 + 1)
        reorder_all(in_order, 64, run, true);
}

static void reorder_mends_small_steps(void **state)
{
    (void)state;
    for (unsigned run = 1; run < 3000; run = run * 3 + 1)
        for (unsigned window = 50; window < 3000; window *= 4)
            reorder_all(steps_back, window, run, true);
}

static void reorder_loses_nothing_beyond_its_window(void **state)
{
    (void)state;
    reorder_all(backwards, 16, 100, false);
    reorder_all(steps_back, 2, 7, false);
}

static int64_t one_wrong(unsigned i)
{
    return i == 100 ? 1000000 : (int64_t)i;
}

static bool is_certain(int64_t (*time)(unsigned), unsigned run, int64_t newest)
{
    struct item *items = make_items(N, time);
    struct source *source;
    bool certain;
    int result;

    assert_int_equal(reorder_open(memory_source(items, N, run, 0), 64, &source), 0);
    assert_int_equal(drain(source, false, &result, NULL), N);
    certain = reorder_is_certain(source);
    assert_int_equal(reorder_newest(source), newest);
    source_free(source);
    free_items(items);
    return certain;
}

/* A wrong time that was held back until the end, too, although nothing is late then. */
static void reorder_notes_what_it_moved_too_far(void **state)
{
    (void)state;
    for (unsigned run = 1; run < 2000; run = run * 3 + 1) {
        assert_true(is_certain(in_order, run, (N - 1) / 3));
        assert_true(is_certain(steps_back, run, N - 10));
        assert_false(is_certain(one_wrong, run, 1000000));
    }
}

static void reorder_is_stable(void **state)
{
    struct item *items = make_items(N, in_order);
    struct source *source;
    const struct item *lent;
    int32_t expected = 0;
    int n;

    (void)state;
    assert_int_equal(reorder_open(memory_source(items, N, 77, 0), 100, &source), 0);
    while ((n = source_next(source, &lent)) > 0)
        for (int i = 0; i < n; i++)
            assert_int_equal(lent[i].pid, expected++);
    source_free(source);
    free_items(items);
}

static int64_t starts_again(unsigned i)
{
    return (i < 1300 ? 700 : 0) + (int64_t)(i % 1300) * 3 - (i % 100 == 7 ? 4 : 0);
}

/* A clock that starts again, at each place of a run; events that are a little late are still put in order. */
static void reorder_begins_anew_where_the_clock_does(void **state)
{
    static const struct origin origin = {.path = "trace"};

    (void)state;
    for (unsigned run = 1; run < 2000; run = run * 3 + 1) {
        struct item *items = make_items(N, starts_again);
        struct source *source = memory_source(items, N, run, 0);
        const struct item *lent;
        const char *path;
        int32_t last = 0;
        int n;

        source->may_restart = true;
        for (unsigned i = 0; i < N; i++)
            items[i].origin = &origin;
        assert_int_equal(reorder_open(source, 64, &source), 0);
        while ((n = source_next(source, &lent)) > 0)
            for (int i = 0; i < n; i++) {
                assert_true(lent[i].pid / 1300 >= last / 1300);
                last = lent[i].pid;
            }
        assert_non_null(strstr(reorder_hint(source, &path), "starts again"));
        assert_string_equal(path, "trace");
        source_free(source);
        free_items(items);
    }
}

static void reorder_passes_the_error_on_after_all_items(void **state)
{
    struct item *items = make_items(N, steps_back);
    struct source *source;
    int result;

    (void)state;
    assert_int_equal(reorder_open(memory_source(items, N, 500, -EBADMSG), 64, &source), 0);
    assert_int_equal(drain(source, true, &result, NULL), N);
    assert_int_equal(result, -EBADMSG);
    assert_string_equal(source->error.what, "made to fail");
    source_free(source);
    free_items(items);
}

static void reorder_lends_what_it_holds_when_the_writer_is_quiet(void **state)
{
    struct item *items = make_items(30, in_order);
    struct source *source;
    const struct item *lent;
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(reorder_open(memory_source(items, 30, 10, 0), 100, &source), 0);
    reorder_set_live(source, fds[0]);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(source_next(source, &lent), 10);
    assert_int_equal(source_next(source, &lent), 0);
    source_free(source);
    close(fds[0]);
    close(fds[1]);
    free_items(items);
}

static void merge_of(unsigned n_inputs, unsigned run, int error)
{
    struct item *items = make_items(N, in_order);
    struct item *parts[8] = {NULL};
    unsigned n_part[8] = {0};
    struct source *inputs[8];
    struct source *source;
    int result;

    assert(n_inputs > 0 && n_inputs <= ARRAY_SIZE(parts));
    for (unsigned k = 0; k < n_inputs; k++)
        parts[k] = calloc(N, sizeof **parts);
    for (unsigned i = 0; i < N; i++) {
        unsigned k = (i * 2654435761u >> 13) % n_inputs;
        parts[k][n_part[k]++] = items[i];
    }
    for (unsigned k = 0; k < n_inputs; k++)
        inputs[k] = memory_source(parts[k], n_part[k], run + k, k == 0 ? error : 0);
    assert_int_equal(merge_open(inputs, n_inputs, &source), 0);
    assert_int_equal(drain(source, true, &result, NULL), N);
    assert_int_equal(result, error);
    source_free(source);
    for (unsigned k = 0; k < n_inputs; k++)
        free(parts[k]);
    free_items(items);
}

static void merge_puts_in_order(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 8; n++)
        for (unsigned run = 1; run < 2000; run = run * 5 + 2)
            merge_of(n, run, 0);
}

static void merge_ends_with_the_error_of_an_input(void **state)
{
    (void)state;
    merge_of(3, 100, -EIO);
    merge_of(1, 100, -EIO);
}

static void merge_of_equal_times_goes_by_input(void **state)
{
    struct item *items = make_items(30, in_order);
    struct source *inputs[3];
    struct source *source;
    const struct item *lent;
    int32_t expected[] = {0, 10, 20};
    unsigned at = 0;
    int n;

    (void)state;
    for (unsigned i = 0; i < 30; i++)
        items[i].time = i % 10;
    for (unsigned k = 0; k < 3; k++)
        inputs[k] = memory_source(items + 10 * k, 10, 4, 0);
    assert_int_equal(merge_open(inputs, 3, &source), 0);
    while ((n = source_next(source, &lent)) > 0)
        for (int i = 0; i < n; i++, at++)
            assert_int_equal(lent[i].pid, expected[at % 3] + (int32_t)(at / 3));
    assert_int_equal(at, 30);
    source_free(source);
    free_items(items);
}

/* So that a clock map may be replaced after the trace was opened. */
static void merge_reads_nothing_at_first(void **state)
{
    struct item *items = make_items(20, in_order);
    struct source *inputs[2], *source;
    const struct item *lent;

    (void)state;
    for (unsigned k = 0; k < 2; k++)
        inputs[k] = memory_source(items + 10 * k, 10, 4, 0);
    assert_int_equal(merge_open(inputs, 2, &source), 0);
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(container_of(inputs[k], struct memory_source, source)->next, 0);
    assert_true(source_next(source, &lent) > 0);
    source_free(source);
    free_items(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge_reads_nothing_at_first),
        cmocka_unit_test(reorder_keeps_what_is_in_order),
        cmocka_unit_test(reorder_mends_small_steps),
        cmocka_unit_test(reorder_loses_nothing_beyond_its_window),
        cmocka_unit_test(reorder_is_stable),
        cmocka_unit_test(reorder_begins_anew_where_the_clock_does),
        cmocka_unit_test(reorder_notes_what_it_moved_too_far),
        cmocka_unit_test(reorder_passes_the_error_on_after_all_items),
        cmocka_unit_test(reorder_lends_what_it_holds_when_the_writer_is_quiet),
        cmocka_unit_test(merge_puts_in_order),
        cmocka_unit_test(merge_ends_with_the_error_of_an_input),
        cmocka_unit_test(merge_of_equal_times_goes_by_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
