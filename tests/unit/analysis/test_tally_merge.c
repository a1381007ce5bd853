/* SPDX-License-Identifier: MIT */
/* Random events, cut at random places: the tallies of the pieces, added up, are the tally of all. Each second piece is of
 * a catalogue of its own, as of another opening of the trace. */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/tally_merge.h"
#include "base/macro.h"
#include "random.h"

#define ITEMS 2000
#define CLASSES 7
#define ORIGINS 3
#define PIECES_MAX 20

static struct origin origins[2][ORIGINS];
static const struct field fields[] = {
    {.name = "n", .c_type = "int", .type = FIELD_INT, .storage = STORE_SCALAR, .size = 4}};
static struct event_class classes[2][CLASSES];

static void make_catalogues(void)
{
    static const char *const names[CLASSES] = {"a", "b", "c", "a", "d", "e", "a"};

    for (unsigned c = 0; c < 2; c++) {
        for (unsigned i = 0; i < ORIGINS; i++)
            origins[c][i] =
                (struct origin){.layer = i == 2 ? LAYER_HOST : LAYER_GUEST, .path = "p"};
        for (unsigned i = 0; i < CLASSES; i++)
            classes[c][i] = (struct event_class){.name = names[i],
                                                 .group = i % 2 || i == 6 ? "g" : NULL,
                                                 .origin = &origins[c][i % ORIGINS],
                                                 .fields = fields,
                                                 .n_fields = i < 5 ? 1 : 0,
                                                 .index = i,
                                                 /* a variant */
                                                 .stat_row = i == 6 ? 3 : i};
    }
}

static const struct origin *find_origin(void *arg, const struct origin *origin)
{
    for (unsigned i = 0; i < ORIGINS; i++)
        if (origin == &origins[1][i])
            return &origins[0][i];
    return arg ? NULL : origin;
}

static const struct event_class *find_class(void *arg, const struct event_class *class)
{
    for (unsigned i = 0; i < CLASSES; i++)
        if (class == &classes[1][i])
            return &classes[0][i];
    return arg ? NULL : class;
}

struct stream {
    struct item items[ITEMS];
    int32_t payloads[ITEMS];
    unsigned cuts[PIECES_MAX + 1];
    unsigned n_pieces;
};

/* Within a piece, times may step back, but not before where it begins. */
static void make_stream(struct stream *s)
{
    int64_t newest = (int64_t)(random_u64() % 1000), floor = newest;

    s->n_pieces = 1 + (unsigned)(random_u64() % PIECES_MAX);
    for (unsigned i = 1; i < s->n_pieces; i++)
        s->cuts[i] = (unsigned)(random_u64() % ITEMS);
    s->cuts[0] = 0;
    s->cuts[s->n_pieces] = ITEMS;
    for (unsigned i = 1; i < s->n_pieces; i++)
        for (unsigned j = i; j > 1 && s->cuts[j] < s->cuts[j - 1]; j--) {
            unsigned swap = s->cuts[j];

            s->cuts[j] = s->cuts[j - 1];
            s->cuts[j - 1] = swap;
        }
    for (unsigned i = 0, piece = 0; i < ITEMS; i++) {
        unsigned class = (unsigned)(random_u64() % CLASSES), choice = (unsigned)(random_u64() % 64);
        int64_t time;

        while (i >= s->cuts[piece + 1]) {
            floor = newest;
            piece++;
        }
        newest += choice < 20 ? 0 : (int64_t)(random_u64() % (choice == 63 ? 100000 : 50));
        time = choice == 21 ? MAX(floor, newest - 30) : choice == 22 ? TIME_UNKNOWN : newest;
        s->payloads[i] = (int32_t)(random_u64() % 9);
        s->items[i] = (struct item){.time = time,
                                    .origin = &origins[0][class % ORIGINS],
                                    .class = &classes[0][class],
                                    .payload = (const uint8_t *)&s->payloads[i],
                                    .size = sizeof s->payloads[i],
                                    .cpu = (int)(random_u64() % 4) - 1,
                                    .pid = (int)(random_u64() % 6) - 1,
                                    .vcpu = (int)(random_u64() % 3) - 1};
        if (choice == 23) {
            s->items[i].kind = ITEM_LOSS;
            s->items[i].class = NULL;
            s->items[i].lost = random_u64() % 4 ? random_u64() % 100 : LOST_UNKNOWN;
            s->items[i].cause = random_u64() % 2 ? LOSS_DROPPED : LOSS_UNREADABLE;
            s->items[i].skipped = 10;
            s->items[i].since = random_u64() % 2 || time == TIME_UNKNOWN
                                    ? TIME_UNKNOWN
                                    : time - (int64_t)(random_u64() % 300);
        }
    }
}

static void assert_histograms(const struct histogram *a, const struct histogram *b)
{
    static const struct histogram none;

    a = a ? a : &none;
    b = b ? b : &none;
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->max, b->max);
    for (unsigned i = 0; a->n > 0 && i < HISTOGRAM_BUCKETS; i++)
        assert_int_equal(histogram_count(a, i), histogram_count(b, i));
}

static void assert_periods(const struct tally_row *a, const struct tally_row *b)
{
    const struct tally_period **x, **y;

    assert_int_equal(a->n_periods, b->n_periods);
    assert_int_equal(tally_sort_periods(a, &x), 0);
    assert_int_equal(tally_sort_periods(b, &y), 0);
    for (unsigned i = 0; i < a->n_periods; i++) {
        assert_int_equal(x[i]->number, y[i]->number);
        assert_int_equal(x[i]->count, y[i]->count);
        assert_histograms(x[i]->distances, y[i]->distances);
    }
    free(x);
    free(y);
}

static void assert_rows(const struct tally_row *a, const struct tally_row *b, enum tally_by by)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
    assert_ptr_equal(a->origin, b->origin);
    assert_ptr_equal(a->class, b->class);
    assert_int_equal(a->cpu, b->cpu);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->vcpu, b->vcpu);
    assert_histograms(a->distances, b->distances);
    if (a->distances)
        assert_int_equal(a->max_at, b->max_at);
    for (unsigned i = 0; by == TALLY_BY_KEYS && i < GROUPING_KEYS && a->keys[i]; i++)
        assert_string_equal(a->keys[i], b->keys[i]);
    assert_periods(a, b);
}

static void assert_tallies(const struct tally *a, const struct tally *b)
{
    const struct tally_row **x, **y;
    unsigned n, m;

    assert_int_equal(a->count, b->count);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
    assert_int_equal(a->n_without_keys, b->n_without_keys);
    assert_int_equal(a->periods_begin, b->periods_begin);
    assert_int_equal(a->has_late_periods, b->has_late_periods);
    assert_memory_equal(&a->losses, &b->losses, sizeof a->losses);
    assert_memory_equal(&a->layers, &b->layers, sizeof a->layers);
    assert_int_equal(a->n_gaps, b->n_gaps);
    for (unsigned i = 0; i < a->n_gaps; i++) {
        assert_int_equal(a->gaps[i].begin, b->gaps[i].begin);
        assert_int_equal(a->gaps[i].end, b->gaps[i].end);
        assert_int_equal(a->gaps[i].lost, b->gaps[i].lost);
        assert_ptr_equal(a->gaps[i].class, b->gaps[i].class);
        assert_ptr_equal(a->gaps[i].origin, b->gaps[i].origin);
    }
    assert_int_equal(tally_sorted(a, &x, &n), 0);
    assert_int_equal(tally_sorted(b, &y, &m), 0);
    assert_int_equal(n, m);
    for (unsigned i = 0; i < n; i++)
        assert_rows(x[i], y[i], a->by);
    free(x);
    free(y);
}

/* Items of a piece, in the catalogue NUMBER, by small runs. */
static void put(struct tally *tally, const struct stream *s, unsigned from, unsigned to,
                unsigned number)
{
    for (unsigned i = from; i < to; i++) {
        struct item item = s->items[i];

        item.origin = &origins[number][item.origin - origins[0]];
        if (item.class)
            item.class = &classes[number][item.class - classes[0]];
        assert_int_equal(sink_put(&tally->sink, &item, 1), 0);
    }
}

static void merge_all(const struct tally_options *options, const struct stream *s,
                      struct tally *tally)
{
    const struct tally_counterparts counterparts = {find_origin, find_class, NULL};

    assert_int_equal(tally_init_with(tally, options), 0);
    put(tally, s, 0, s->cuts[1], 0);
    for (unsigned piece = 1; piece < s->n_pieces; piece++) {
        struct tally later;

        assert_int_equal(tally_init_with(&later, options), 0);
        later.periods_begin = tally->periods_begin;
        put(&later, s, s->cuts[piece], s->cuts[piece + 1], piece % 2);
        assert_int_equal(tally_merge(tally, &later, piece % 2 ? &counterparts : NULL), 0);
        tally_done(&later);
    }
}

static void check(const struct tally_options *options)
{
    static struct stream s;
    struct tally all, sum;

    make_stream(&s);
    assert_int_equal(tally_init_with(&all, options), 0);
    put(&all, &s, 0, ITEMS, 0);
    merge_all(options, &s, &sum);
    assert_int_equal(tally_mark_gaps(&all), 0);
    assert_int_equal(tally_mark_gaps(&sum), 0);
    assert_tallies(&all, &sum);
    tally_done(&all);
    tally_done(&sum);
}

static void test_sums(void **state)
{
    for (unsigned round = 0; round < 40; round++)
        for (unsigned by = TALLY_BY_EVENT; by < TALLY_BY_KEYS; by++) {
            const struct tally_options options = {
                .by = (enum tally_by)by,
                .every = round % 4 == 1 ? 1 + (int64_t)(random_u64() % 5000) : 0,
                .period_distances = round % 8 == 1,
                .gaps = round % 4 >= 2 ? (unsigned)(random_u64() % 20) : 0,
            };

            check(&options);
        }
}

static void assert_covered(const struct coverage *a, const struct coverage *b)
{
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
    for (unsigned i = 0; i < ORIGINS; i++) {
        assert_int_equal(coverage_recorded(a, &origins[0][i]),
                         coverage_recorded(b, &origins[0][i]));
        assert_int_equal(coverage_lost(a, &origins[0][i]), coverage_lost(b, &origins[0][i]));
    }
}

/* What a tally, or the sum of some, says to be covered is what a coverage says that has all items. */
static void test_cover(void **state)
{
    static const struct tally_options options = {.by = TALLY_BY_EVENT};
    static struct stream s;

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct coverage all, sum;
        struct tally tally;

        make_stream(&s);
        /* A loss may come before all events. */
        if (round % 2)
            for (unsigned i = 0; i < 20; i++)
                s.items[i].kind = ITEM_LOSS, s.items[i].since = TIME_UNKNOWN;
        for (unsigned i = 1; i < ITEMS; i++)
            s.items[i].time = MAX(s.items[i].time, s.items[i - 1].time);
        coverage_init(&all);
        coverage_init(&sum);
        assert_int_equal(coverage_put(&all, s.items, ITEMS), 0);
        merge_all(&options, &s, &tally);
        assert_int_equal(tally_cover_make(&tally.cover, NULL, &sum), 0);
        assert_covered(&all, &sum);
        coverage_done(&all);
        coverage_done(&sum);
        tally_done(&tally);
    }
}

static void test_keys(void **state)
{
    static const char *const keys[] = {"n",       "event",    "source,cpu",
                                       "n,event", "pid,vcpu", "layer,n"};

    for (unsigned round = 0; round < 60; round++) {
        struct tally_options options = {.by = TALLY_BY_KEYS,
                                        .every = round % 3 ? 0 : 700,
                                        .period_distances = true,
                                        .gaps = round % 5};
        struct arena arena = {0};
        struct error error = {0};

        assert_int_equal(
            grouping_parse(keys[round % ARRAY_SIZE(keys)], &arena, &options.grouping, &error), 0);
        check(&options);
        arena_done(&arena);
    }
}

/* A sum that has no room for a number says that more were lost, not the largest number. */
static void test_overflow(void **state)
{
    struct origin origin = {.lost = UINT64_MAX - 1};
    struct item loss = {.kind = ITEM_LOSS, .origin = &origin, .lost = UINT64_MAX - 9, .cpu = 1};
    struct losses sum = {0}, other = {0};

    losses_add(&sum, &loss);
    losses_add(&other, &loss);
    losses_merge(&sum, &other);
    assert_true(sum.events == UINT64_MAX - 9 && sum.by_cpu[1] == UINT64_MAX - 9);
    assert_int_equal(sum.uncounted, 1);
    sum = (struct losses){0};
    losses_add_recorded(&sum, &origin, true);
    losses_add_recorded(&sum, &origin, true);
    assert_true(sum.elsewhere == UINT64_MAX - 1 && losses_are_more(&sum));
    assert_int_equal(sum.n_recorders, 1);
}

/* What could differ from one tally is refused. */
static void test_refused(void **state)
{
    static const int64_t times[] = {9, 10};
    const struct tally_counterparts none = {find_origin, find_class, origins};

    for (unsigned i = 0; i < 2; i++)
        for (unsigned separate = 0; separate < 2; separate++)
            for (unsigned missing = 0; missing < 2; missing++) {
                const struct tally_options options = {.separate = separate};
                struct item item = {
                    .time = 10, .origin = &origins[0][0], .class = &classes[0][0], .cpu = 1};
                bool is_fine = times[i] >= 10 && !separate && !missing;
                struct tally tally, later;

                assert_int_equal(tally_init_with(&tally, &options), 0);
                assert_int_equal(tally_init_with(&later, &options), 0);
                assert_int_equal(sink_put(&tally.sink, &item, 1), 0);
                item.time = times[i];
                assert_int_equal(sink_put(&later.sink, &item, 1), 0);
                assert_int_equal(tally_merge(&tally, &later, missing ? &none : NULL),
                                 is_fine ? 0 : -ERANGE);
                tally_done(&tally);
                tally_done(&later);
            }
}

/* More rows than there may be: which events are in the last one depends on their order. */
static void test_many_rows(void **state)
{
    struct tally_options options = {.by = TALLY_BY_KEYS};
    struct arena arena = {0};
    struct error error = {0};
    struct tally tally, later;

    assert_int_equal(grouping_parse("pid", &arena, &options.grouping, &error), 0);
    assert_int_equal(tally_init_with(&tally, &options), 0);
    assert_int_equal(tally_init_with(&later, &options), 0);
    for (int i = 0; i < TALLY_KEY_ROWS_MAX + 1; i++) {
        const struct item item = {
            .time = i, .origin = &origins[0][0], .class = &classes[0][0], .pid = i};

        assert_int_equal(sink_put(i < 100 ? &tally.sink : &later.sink, &item, 1), 0);
    }
    assert_int_equal(tally_merge(&tally, &later, NULL), -ERANGE);
    tally_done(&tally);
    tally_done(&later);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_cover),
        cmocka_unit_test(test_keys),    cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_many_rows),
    };

    make_catalogues();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
