/* SPDX-License-Identifier: MIT */
/* A source that is read ahead lends what the source itself lends, whatever that does. */
#include "timeline/read_ahead.h"

#include "cmocka_all.h"

#include "base/thread.h"
#include "event/item_block.h"
#include "memory_source.h"

#define N 60000

static const struct origin origin = {.clock = {"monotonic", NANOSECONDS}};
static const struct event_class first_class = {.name = "first", .origin = &origin};

/* Payloads repeat the item's number, so that one that was not kept is seen. */
static struct item *make_items(unsigned n)
{
    struct item *items = calloc(n, sizeof *items);
    uint32_t *numbers = calloc(n, sizeof *numbers);

    assert_non_null(items);
    assert_non_null(numbers);
    for (unsigned i = 0; i < n; i++) {
        numbers[i] = i;
        items[i] = (struct item){.time = i,
                                 .origin = &origin,
                                 .class = &first_class,
                                 .payload = (const uint8_t *)&numbers[i],
                                 .size = sizeof numbers[i],
                                 .pid = (int32_t)i};
    }
    return items;
}

static void free_items(struct item *items)
{
    free((void *)items[0].payload);
    free(items);
}

/* INNER read ahead, with its thread as soon as there can be one. */
static struct source *open_ahead(struct source *inner, const struct catalogue *catalogue)
{
    static const struct catalogue none = {0};
    const struct read_ahead_options options = {.catalogue = catalogue ? catalogue : &none,
                                               .always = true};
    struct source *source;

    assert_int_equal(read_ahead_open(inner, &options, &source), 0);
    return source;
}

/* Reads N items, which come in runs of RUN. Returns how many there were; *RET_RESULT: of the last call. */
static unsigned drain(struct source *source, unsigned n, unsigned run, int *ret_result)
{
    const struct item *items;
    unsigned total = 0;
    int r = 1;

    while (total < n && (r = source_next(source, &items)) > 0) {
        assert_int_equal(r, MIN(run, n - total));
        for (int i = 0; i < r; i++, total++) {
            uint32_t number;

            assert_int_equal(items[i].pid, total);
            memcpy(&number, items[i].payload, sizeof number);
            assert_int_equal(number, total);
            ((struct item *)(uintptr_t)&items[i])->pid = -1; /* S6 */
        }
    }
    *ret_result = r;
    return total;
}

static void test_runs(void **state)
{
    static const unsigned runs[] = {1, 7, 512, ITEM_BLOCK_ITEMS - 1, ITEM_BLOCK_ITEMS, 5000, N};
    struct item *items = make_items(N);

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(runs); i++) {
        struct source *source = open_ahead(memory_source(items, N, runs[i], 0), NULL);
        const struct item *lent;
        int result;

        assert_int_equal(drain(source, N, runs[i], &result), N);
        assert_int_equal(read_ahead_is_running(source), runs[i] < N);
        assert_int_equal(source_next(source, &lent), 0);
        assert_int_equal(source_next(source, &lent), 0);
        assert_false(read_ahead_is_running(source));
        source_free(source);
    }
    free_items(items);
}

/* Linked in place of thread_start(). */
static bool has_threads = true;
int __real_thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *arg),
                        void *arg);
int __wrap_thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *arg),
                        void *arg);

int __wrap_thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *arg),
                        void *arg)
{
    return has_threads ? __real_thread_start(ret_thread, stack_size, run, arg) : -EAGAIN;
}

/* The thread cannot be made. */
static void test_no_thread(void **state)
{
    struct item *items = make_items(N);
    struct source *source = open_ahead(memory_source(items, N, 100, 0), NULL);
    int result;

    (void)state;
    has_threads = false;
    assert_int_equal(drain(source, N, 100, &result), N);
    assert_false(read_ahead_is_running(source));
    has_threads = true;
    source_free(source);
    free_items(items);
}

static void test_small(void **state)
{
    struct item *items = make_items(READ_AHEAD_ITEMS_BEFORE);
    struct source *source = open_ahead(memory_source(items, READ_AHEAD_ITEMS_BEFORE, 1, 0), NULL);
    int result;

    (void)state;
    assert_int_equal(drain(source, READ_AHEAD_ITEMS_BEFORE, 1, &result), READ_AHEAD_ITEMS_BEFORE);
    assert_false(read_ahead_is_running(source));
    source_free(source);
    free_items(items);
}

static void test_error(void **state)
{
    struct item *items = make_items(N);

    (void)state;
    for (unsigned n = READ_AHEAD_ITEMS_BEFORE; n <= N; n += 12345) {
        struct source *source = open_ahead(memory_source(items, n, 100, -EBADMSG), NULL);
        const struct item *lent;
        int result;

        assert_int_equal(drain(source, n, 100, &result), n);
        assert_int_equal(source_next(source, &lent), -EBADMSG);
        assert_string_equal(source->error.what, "made to fail");
        assert_int_equal(source_next(source, &lent), -EBADMSG);
        source_free(source);
    }
    free_items(items);
}

/* A borrower that ends early, and one that goes on without the thread. */
static void test_stop(void **state)
{
    struct item *items = make_items(N);
    struct source *source = open_ahead(memory_source(items, N, 10, 0), NULL);
    const struct item *lent;
    int result;

    (void)state;
    drain(source, N / 2, 10, &result);
    assert_true(read_ahead_is_running(source));
    source_free(source);
    source = open_ahead(memory_source(items, N, 10, 0), NULL);
    drain(source, N / 2, 10, &result);
    read_ahead_stop(source);
    assert_false(read_ahead_is_running(source));
    while (source_next(source, &lent) > 0)
        assert_false(read_ahead_is_running(source));
    source_free(source);
    free_items(items);
}

/* Items that no block holds, among others. */
static void test_large(void **state)
{
    const uint32_t size = ITEM_BLOCK_PAYLOAD_BYTES + 1;
    struct item *items = make_items(N);
    uint8_t *large[3];
    struct source *source;
    int result;

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(large); i++) {
        uint32_t number = READ_AHEAD_ITEMS_BEFORE + 100 + i * 5000 - (i == 1 ? 4999 : 0);

        large[i] = calloc(1, size);
        assert_non_null(large[i]);
        memcpy(large[i], &number, sizeof number);
        items[number].payload = large[i];
        items[number].size = size - (i == 2);
    }
    for (unsigned run = 1; run <= 1000; run *= 10) {
        source = open_ahead(memory_source(items, N, run, 0), NULL);
        assert_int_equal(drain(source, N, run, &result), N);
        source_free(source);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(large); i++)
        free(large[i]);
    free_items(items);
}

static void test_losses(void **state)
{
    struct item *items = make_items(N);
    struct source *source;
    const struct item *lent;
    unsigned total = 0;
    int n;

    (void)state;
    for (unsigned i = 0; i < N; i += 3) {
        items[i].kind = ITEM_LOSS;
        items[i].class = NULL;
        items[i].lost = i;
        items[i].since = (int64_t)i - 1;
    }
    source = open_ahead(memory_source(items, N, 100, 0), NULL);
    while ((n = source_next(source, &lent)) > 0)
        for (int i = 0; i < n; i++, total++)
            if (total % 3 == 0) {
                assert_int_equal(lent[i].kind, ITEM_LOSS);
                assert_int_equal(lent[i].lost, total);
                assert_int_equal(lent[i].since, (int64_t)total - 1);
            }
    assert_int_equal(total, N);
    source_free(source);
    items[0].payload = items[1].payload - sizeof(uint32_t); /* as it was, to be freed */
    free_items(items);
}

/* A source that finds a class with each hundredth run. */
struct growing_source {
    struct source source;
    struct source *inner;
    struct catalogue *catalogue;
    unsigned n_runs;
    int64_t sought;
};

static int growing_next(struct source *source, const struct item **ret_items)
{
    struct growing_source *g = container_of(source, struct growing_source, source);
    const struct event_class class = {.name = "class", .origin = &origin};
    struct event_class *made;

    if (g->n_runs++ % 100 == 0)
        assert_int_equal(catalogue_add(g->catalogue, &class, &made), 0);
    return source_next(g->inner, ret_items);
}

static void growing_seek(struct source *source, int64_t time)
{
    container_of(source, struct growing_source, source)->sought = time;
}

static void growing_free(struct source *source)
{
    source_free(container_of(source, struct growing_source, source)->inner);
}

static const struct source_ops growing_ops = {
    .next = growing_next, .free = growing_free, .seek = growing_seek};

static void test_classes(void **state)
{
    struct catalogue catalogue = {0};
    struct item *items = make_items(N);
    struct growing_source growing = {.source.ops = &growing_ops,
                                     .inner = memory_source(items, N, 10, 0),
                                     .catalogue = &catalogue};
    struct source *source = open_ahead(&growing.source, &catalogue);
    const struct catalogue *classes = read_ahead_classes(source);
    const struct item *lent;
    unsigned total = 0;
    int n;

    (void)state;
    while ((n = source_next(source, &lent)) > 0) {
        /* All items of the run came while there were as many classes. */
        assert_int_equal(classes->n_classes, (unsigned)lent[0].pid / 1000 + 1);
        assert_int_equal(classes->n_classes, (unsigned)lent[n - 1].pid / 1000 + 1);
        assert_string_equal(classes->classes[classes->n_classes - 1]->name, "class");
        total += (unsigned)n;
    }
    assert_int_equal(total, N);
    assert_int_equal(classes->n_classes, catalogue.n_classes);
    source_free(source);
    catalogue_done(&catalogue);
    free_items(items);
}

static void test_seek(void **state)
{
    struct catalogue catalogue = {0};
    struct item *items = make_items(N);
    struct growing_source growing = {.source.ops = &growing_ops,
                                     .inner = memory_source(items, N, 10, 0),
                                     .catalogue = &catalogue};
    struct source *source = open_ahead(&growing.source, &catalogue);
    const struct item *lent;
    int result;

    (void)state;
    source_seek(source, 5);
    assert_int_equal(growing.sought, 5);
    drain(source, READ_AHEAD_ITEMS_BEFORE + 18, 10, &result);
    assert_true(read_ahead_is_running(source));
    source_seek(source, 7);
    while (source_next(source, &lent) > 0)
        ;
    source_free(source);
    assert_int_equal(growing.sought, 7);
    catalogue_done(&catalogue);
    free_items(items);
}

/* The thread reads no further than where the selection is over. */
static void test_selection(void **state)
{
    struct select_options options = {0};
    struct catalogue catalogue = {0};
    struct item *items = make_items(N);
    struct selection selection;
    struct error error = {0};
    const struct item *lent;

    (void)state;
    for (unsigned threads = 0; threads < 2; threads++) {
        struct growing_source growing = {.source.ops = &growing_ops,
                                         .inner = memory_source(items, N, 10, 0),
                                         .catalogue = &catalogue};
        struct source *source = open_ahead(&growing.source, &catalogue);
        int n = 0;

        assert_int_equal(select_parse_time(&options.to, "0.000030000", &error), 0);
        assert_int_equal(selection_init(&selection, &options), 0);
        if (threads)
            read_ahead_select(source, &selection);
        else
            read_ahead_stop(source);
        while (!selection_is_over(&selection) && (n = source_next(source, &lent)) > 0)
            for (unsigned i = 0; i < (unsigned)n; i++) {
                int run = selection_next_run(&selection, lent, (unsigned)n, &i, &error);

                if (run <= 0)
                    break;
                i += (unsigned)run - 1;
            }
        assert_int_equal(read_ahead_is_running(source), threads);
        read_ahead_stop(source);
        assert_int_equal(growing.n_runs, 3000 + 4 * SOURCE_DISORDER_MAX / 10 + 1);
        source_free(source);
        selection_done(&selection);
    }
    options = (struct select_options){.limited = true, .limit = 2 * READ_AHEAD_ITEMS_BEFORE};
    assert_int_equal(selection_init(&selection, &options), 0);
    {
        struct source *source = open_ahead(memory_source(items, N, 10, 0), NULL);
        int result;

        read_ahead_select(source, &selection);
        drain(source, N, 10, &result);
        assert_false(read_ahead_is_running(source));
        source_free(source);
    }
    selection_done(&selection);
    catalogue_done(&catalogue);
    free_items(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),   cmocka_unit_test(test_no_thread),
        cmocka_unit_test(test_small),  cmocka_unit_test(test_error),
        cmocka_unit_test(test_stop),   cmocka_unit_test(test_large),
        cmocka_unit_test(test_losses), cmocka_unit_test(test_classes),
        cmocka_unit_test(test_seek),   cmocka_unit_test(test_selection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
