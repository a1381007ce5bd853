/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/diff.h"
#include "analysis/result/estimate.h"
#include "analysis/result/result_rows.h"

/* ---- A machine whose work is known ---- */

/* How the durations of a stage are spread. */
enum spread {
    SPREAD_CONSTANT,   /* within 2 % */
    SPREAD_LOG_NORMAL, /* a factor of 1.6 around the median */
    SPREAD_EXPONENTIAL,
    SPREAD_TWO,      /* short, or 20 times as long */
    SPREAD_PAUSES,   /* one of 200 is 100 times as long */
    SPREAD_ALIKE,    /* log-normal; neighbours are much alike */
    SPREAD_DRIFTING, /* log-normal; half as long at the end */
    SPREAD_BUSY,     /* for 10 spans three times as long */
    SPREADS
};
#define STAGES (2 * SPREADS)

struct random {
    uint64_t state;
};

static double get_uniform(struct random *random)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(random->state >> 33) + 0.5) / (double)(UINT64_C(1) << 31);
}

static double get_normal(struct random *random)
{
    double radius = sqrt(-2 * log(get_uniform(random)));

    return radius * cos(2 * 3.14159265358979323846 * get_uniform(random));
}

/* What a stage has to remember. */
struct stage {
    double likeness;
    bool is_busy;
};

/* The duration of the stage in a request of which PART of all are done, on average some 10 us. */
static double get_duration(enum spread spread, struct stage *stage, double part,
                           struct random *random)
{
    double usual = exp(0.5 * get_normal(random));

    switch (spread) {
    case SPREAD_CONSTANT: return 10000 * (1 + 0.02 * get_uniform(random));
    case SPREAD_LOG_NORMAL: return 10000 * usual;
    case SPREAD_EXPONENTIAL: return -10000 * log(get_uniform(random));
    case SPREAD_TWO: return get_uniform(random) < 0.5 ? 1000 * usual : 20000 * usual;
    case SPREAD_PAUSES: return get_uniform(random) < 0.005 ? 1e6 * usual : 10000 * usual;
    case SPREAD_ALIKE:
        stage->likeness = 0.95 * stage->likeness + sqrt(1 - 0.95 * 0.95) * get_normal(random);
        return 10000 * exp(0.5 * stage->likeness);
    case SPREAD_DRIFTING: return 10000 * usual * (1 - part / 2);
    case SPREAD_BUSY:
        if (get_uniform(random) < 0.1)
            stage->is_busy = !stage->is_busy;
        return (stage->is_busy ? 30000 : 10000) * usual;
    case SPREADS: break;
    }
    return 0;
}

/* ---- Its results ---- */

static const struct clock ns = {.hz = NANOSECONDS};
static const struct origin origin = {.layer = LAYER_GUEST};

struct side {
    struct coverage coverage;
    struct rows rows;
    struct result result;
};

static void make_columns(struct result *result, struct duration_columns *columns)
{
    result_add_key(result, "stage", "STAGE", false);
    result_add_duration_columns(result, &(struct percentiles){0}, columns);
}

static void count(struct side *side, unsigned stage, int64_t begin, int64_t duration)
{
    const uint64_t number = stage;
    struct row *row = rows_find(&side->rows, &number);

    if (!row) {
        char name[16];
        const char *key = name;

        snprintf(name, sizeof name, "%u", stage);
        row = rows_add(&side->rows, &number, &key);
        assert_non_null(row);
        row->origin = &origin;
    }
    assert_int_equal(row_count(&side->rows, row, begin, duration, 0), 0);
}

static void begin_side(struct side *side)
{
    coverage_init(&side->coverage);
    assert_int_equal(rows_init(&side->rows, 1, 0, 0, true), 0);
}

static void end_side(struct side *side, int64_t until)
{
    const struct item items[] = {{.kind = ITEM_EVENT, .origin = &origin, .time = 0},
                                 {.kind = ITEM_EVENT, .origin = &origin, .time = until}};
    struct duration_columns columns;

    assert_int_equal(coverage_put(&side->coverage, items, 2), 0);
    result_init(&side->result, "test", &ns, &side->coverage);
    make_columns(&side->result, &columns);
    assert_int_equal(result_add_duration_rows(&side->result, &columns, &side->rows), 0);
}

/* N requests, each of the stages one after the other; what SLOW does takes FACTOR times as long. The second half of the stages is of one in
 * ten requests. */
static void run_machine(struct side *side, unsigned n, unsigned slow, double factor, uint64_t seed)
{
    struct stage stages[STAGES] = {0};
    struct random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    double now = 0;

    begin_side(side);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < STAGES; j++) {
            double duration;

            if (j >= SPREADS && get_uniform(&random) < 0.9)
                continue;
            duration = get_duration(j % SPREADS, &stages[j], (double)i / n, &random) *
                       (j == slow ? factor : 1);
            count(side, j, (int64_t)now, (int64_t)duration);
            now += duration;
        }
    end_side(side, (int64_t)now);
}

static void done_side(struct side *side)
{
    result_done(&side->result);
    rows_done(&side->rows);
    coverage_done(&side->coverage);
}

/* Whether SLOW was found, and how many others are said to take longer or shorter. */
static bool compare(struct side *a, struct side *b, unsigned slow, unsigned *ret_others)
{
    struct diff diff;
    bool is_found = false;

    *ret_others = 0;
    assert_int_equal(diff_init(&diff, &a->result, &b->result), 0);
    assert_int_equal(diff.n, STAGES);
    for (unsigned i = 0; i < diff.n; i++) {
        const struct diff_row *row = &diff.rows[i];

        assert_int_not_equal(row->verdict, DIFF_UNTESTED);
        if (row->verdict != DIFF_CHANGED)
            continue;
        if ((unsigned)atoi(row->keys[0]) == slow)
            is_found = true;
        else
            ++*ret_others;
    }
    diff_done(&diff);
    return is_found;
}

/* ---- Tests ---- */

static void same_of_itself(void **state)
{
    static const unsigned counts[] = {100, 150, 1000, 5000};

    for (unsigned i = 0; i < 4; i++) {
        struct side side;
        struct diff diff;
        unsigned others;

        run_machine(&side, counts[i], STAGES, 1, i);
        assert_false(compare(&side, &side, STAGES, &others));
        assert_int_equal(others, 0);
        assert_int_equal(diff_init(&diff, &side.result, &side.result), 0);
        for (unsigned j = 0; j < diff.n; j++)
            if (diff.rows[j].from[0]->batches->n >= 100)
                assert_int_equal(diff.rows[j].verdict, DIFF_SAME);
        /* However much neighbours are alike, they are as much so in both. */
        for (unsigned j = 0; j < diff.n && counts[i] == 5000; j++)
            if (atoi(diff.rows[j].keys[0]) == SPREAD_ALIKE) {
                assert_int_equal(diff.rows[j].tests[DIFF_P50].verdict, DIFF_SAME);
                assert_int_equal(diff.rows[j].tests[DIFF_P99].verdict, DIFF_SAME);
            }
        diff_done(&diff);
        done_side(&side);
    }
}

#define RUNS 20
static void planted_change(void **state)
{
    static const enum spread planted[] = {SPREAD_LOG_NORMAL, SPREAD_EXPONENTIAL};

    for (unsigned i = 0; i < 2; i++) {
        unsigned found = 0, accused = 0;

        for (unsigned j = 0; j < RUNS; j++) {
            struct side a, b;
            unsigned others;

            run_machine(&a, 4000, STAGES, 1, 1000 * (i + 1) + 2 * j);
            run_machine(&b, 4000, planted[i], 1.2, 1000 * (i + 1) + 2 * j + 1);
            found += compare(&a, &b, planted[i], &others);
            accused += others > 0;
            done_side(&a);
            done_side(&b);
        }
        assert_true(found >= RUNS - 1);
        assert_int_equal(accused, 0);
    }
}

static void student_values(void **state)
{
    static const struct {
        double tail, degree, value;
    } known[] = {{0.05, 1, 6.3138}, {0.025, 10, 2.2281}, {0.0005, 30.9, 3.6460}};

    for (unsigned i = 0; i < 3; i++) {
        struct student student = {.tail = known[i].tail};

        for (unsigned j = 0; j < 2; j++)
            assert_true(fabs(student_value(&student, known[i].degree) - known[i].value) < 0.0001);
    }
}

/* However many there are, all values are in the parts, in their order. */
static void parts_of_all(void **state)
{
    static const unsigned counts[] = {1, 20, 127, 128, 129, 1000, 4097};

    for (unsigned i = 0; i < 7; i++) {
        double means[PARTS_MAX], scores[PARTS_MAX], mean = 0;
        struct batches batches = {0};
        unsigned n;

        for (unsigned j = 0; j < counts[i]; j++)
            batches_add(&batches, 1000 + j);
        n = batches_parts(&batches, &batches);
        assert_int_equal(n, counts[i] < PARTS_MAX ? counts[i] : PARTS_MAX);
        batches_cut(&batches, n, means, scores);
        for (unsigned j = 0; j < n; j++) {
            assert_true(j == 0 || means[j] > means[j - 1]);
            mean += means[j] / n;
        }
        assert_true(fabs(mean - (1000 + (counts[i] - 1) / 2.0)) < 1e-6);
    }
}

/* ---- Functions that move ---- */

static void make_keys(struct side *side, const char *const *keys)
{
    struct duration_columns columns;

    coverage_init(&side->coverage);
    result_init(&side->result, "test", &ns, &side->coverage);
    make_columns(&side->result, &columns);
    for (; *keys; keys++) {
        struct result_row *row = result_add_row(&side->result);

        assert_non_null(row);
        assert_int_equal(result_set_key(&side->result, row, 0, *keys), 0);
    }
}

/* How many of the rows of A and B are joined. */
static unsigned count_joined(const char *const *a, const char *const *b, unsigned *ret_addresses)
{
    struct side sides[2];
    struct diff diff;
    unsigned n = 0;

    make_keys(&sides[0], a);
    make_keys(&sides[1], b);
    assert_int_equal(diff_init(&diff, &sides[0].result, &sides[1].result), 0);
    for (unsigned i = 0; i < diff.n; i++)
        n += diff.rows[i].from[0] && diff.rows[i].from[1];
    *ret_addresses = diff.n_addresses;
    diff_done(&diff);
    for (unsigned i = 0; i < 2; i++) {
        result_done(&sides[i].result);
        coverage_done(&sides[i].coverage);
    }
    return n;
}

#define KEYS(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }
static void functions_that_moved(void **state)
{
    unsigned n;

    /* All by 0x1a00000. */
    assert_int_equal(count_joined(KEYS("0xffffffff81168830", "0xffffffff81153510", "name"),
                                  KEYS("0xffffffff82b53510", "0xffffffff82b68830", "name"), &n),
                     3);
    assert_int_equal(n, 0);
    /* Not at all. */
    assert_int_equal(count_joined(KEYS("0xffffffff81168830", "0xffffffff81153510"),
                                  KEYS("0xffffffff81168830", "0xffffffff83b53510"), &n),
                     2);
    /* Not by a multiple of 2 MiB; another function; data; a pointer of a program. */
    assert_int_equal(count_joined(KEYS("0xffffffff81168830"), KEYS("0xffffffff82b69830"), &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(count_joined(KEYS("0xffff888101168830"), KEYS("0xffff888102b68830"), &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(count_joined(KEYS("0x556c8f3788f0"), KEYS("0x556c8f5788f0"), &n), 0);
    assert_int_equal(n, 2);
    /* One in two places: which is unknown. */
    assert_int_equal(count_joined(KEYS("0xffffffff81168830"),
                                  KEYS("0xffffffff82b68830", "0xffffffff82d68830"), &n),
                     0);
    assert_int_equal(n, 3);
    /* But not if others moved as far as one. */
    assert_int_equal(
        count_joined(KEYS("0xffffffff81168830", "0xffffffff81153510"),
                     KEYS("0xffffffff82b68830", "0xffffffff82d68830", "0xffffffff82b53510"), &n),
        2);
    assert_int_equal(n, 1);
}

/* Functions at all multiples of 2 MiB: any two of them may be the same one. */
static void functions_everywhere(void **state)
{
    enum { N = 400, MOVED = 100 };
    static char text[2][N][24];
    const char *keys[2][N + 1] = {{0}};
    unsigned n;

    for (unsigned i = 0; i < N; i++) {
        for (unsigned side = 0; side < 2; side++) {
            uint64_t slot = i + side * MOVED;

            snprintf(text[side][i], sizeof text[side][i], "0x%" PRIx64,
                     UINT64_C(0xffffffff80000830) + (slot << 21));
            keys[side][i] = text[side][i];
        }
    }
    assert_int_equal(count_joined(keys[0], keys[1], &n), N);
    assert_int_equal(n, 0);
}

/* Events whose times all step back have no durations, and no intervals that are true. */
static void no_durations(void **state)
{
    static const char *const keys[] = {"name", NULL};
    struct batches intervals = {0};
    struct side side;
    struct diff diff;

    for (unsigned i = 0; i < 100; i++)
        batches_add(&intervals, 0);
    make_keys(&side, keys);
    side.result.rows[0]->intervals = &intervals;
    assert_int_equal(diff_init(&diff, &side.result, &side.result), 0);
    assert_int_equal(diff.rows[0].verdict, DIFF_UNKNOWN);
    diff_done(&diff);
    result_done(&side.result);
    coverage_done(&side.coverage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student_values),       cmocka_unit_test(parts_of_all),
        cmocka_unit_test(functions_that_moved), cmocka_unit_test(functions_everywhere),
        cmocka_unit_test(no_durations),         cmocka_unit_test(same_of_itself),
        cmocka_unit_test(planted_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
