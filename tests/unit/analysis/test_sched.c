/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/sched_who.h"
#include "analysis/states/steal.h"
#include "base/macro.h"

static const struct origin host = {.layer = LAYER_HOST};
static const struct origin guest = {.layer = LAYER_GUEST};

static struct state_interval of_cpu(const struct origin *origin, enum state state, int64_t begin,
                                    int64_t end, int by)
{
    return (struct state_interval){.of = STATE_SUBJECT_CPU,
                                   .state = (uint8_t)state,
                                   .origin = origin,
                                   .id = 0,
                                   .begin = begin,
                                   .end = end,
                                   .by = by,
                                   .moved_from = CPU_UNKNOWN,
                                   .inside = -1};
}

static struct state_interval of_thread(enum state state, int64_t begin, int64_t end)
{
    struct state_interval interval = of_cpu(&host, state, begin, end, PID_UNKNOWN);

    interval.of = STATE_SUBJECT_THREAD;
    interval.id = 7;
    interval.vcpu = 0;
    interval.cpu = 0;
    return interval;
}

/* ---- who ran ---- */

/* Threads with odd numbers are Strata's own. */
static bool is_own(void *arg, const struct origin *origin, int32_t by)
{
    (void)arg;
    (void)origin;
    return by % 2 != 0;
}

static const struct sched_who new_who = {.is_own = is_own, .has_pairs = true};

/* The sums of VICTIM are those of its pairs. */
static void expect_sums(const struct who_victim *victim)
{
    int64_t waited = 0, own = 0, unknown = 0;

    for (uint32_t i = 0; i < victim->n; i++) {
        const struct who_pair *pair = &victim->pairs[i];

        waited += pair->sum;
        own += pair->by > 0 && pair->by % 2 ? pair->sum : 0;
        unknown += pair->by == RUN_UNKNOWN ? pair->sum : 0;
    }
    assert_int_equal(victim->waited, waited);
    assert_int_equal(victim->own, own);
    assert_int_equal(victim->unknown, unknown);
}

static void ran(struct sched_who *who, int32_t cpu, enum state state, int64_t begin, int64_t end,
                int by)
{
    struct state_interval interval = of_cpu(&host, state, begin, end, by);

    interval.id = cpu;
    assert_int_equal(sched_who_ran(who, &interval), 0);
}

static void expect(const struct sched_who *who, int32_t by, uint64_t n, int64_t sum, int64_t max)
{
    for (unsigned i = 0; i < who->n; i++) {
        const struct who_pair *pair = &who->list[i].victim->pairs[who->list[i].pair];

        if (pair->by != by)
            continue;
        assert_int_equal(pair->n, n);
        assert_int_equal(pair->sum, sum);
        assert_int_equal(pair->max, max);
        return;
    }
    assert_int_equal(n, 0);
}

static void test_who(void **state)
{
    struct sched_who who = new_who;
    struct state_interval wait = of_thread(STATE_WOKEN, 100, 200);
    struct who_victim victim = {0};

    (void)state;
    ran(&who, 0, STATE_RUNNING, 50, 110, 3);
    ran(&who, 0, STATE_INTERRUPT, 110, 115, 3);
    ran(&who, 0, STATE_RUNNING, 115, 120, 3);
    ran(&who, 0, STATE_UNKNOWN, 120, 130, 3);
    ran(&who, 0, STATE_IDLE, 130, 150, 0);
    ran(&who, 0, STATE_RUNNING, 150, 210, 4);
    ran(&who, 1, STATE_RUNNING, 0, 300, 5);
    assert_int_equal(sched_who_waited(&who, &victim, &wait), 0);
    expect(&who, 3, 1, 15, 15);
    expect(&who, RUN_INTERRUPT, 1, 5, 5);
    expect(&who, RUN_UNKNOWN, 1, 10, 10);
    expect(&who, RUN_IDLE, 1, 20, 20);
    expect(&who, 4, 1, 50, 50);
    expect(&who, 5, 0, 0, 0);
    /* It waits for CPU 1 at first. */
    wait.moved_from = 1;
    wait.moved_at = 190;
    assert_int_equal(sched_who_waited(&who, &victim, &wait), 0);
    expect(&who, 5, 1, 90, 90);
    expect(&who, 4, 2, 60, 50);
    /* And for that it is not known. */
    wait.moved_from = STATE_MOVED_OFTEN;
    assert_int_equal(sched_who_waited(&who, &victim, &wait), 0);
    expect(&who, RUN_UNKNOWN, 2, 100, 90);
    expect_sums(&victim);
    who_victim_done(&victim);
    sched_who_done(&who);
}

/* What is too long ago is unknown. */
static void test_who_long_ago(void **state)
{
    struct sched_who who = new_who;
    int64_t n = 3 * WHO_RUNS;
    struct state_interval wait = of_thread(STATE_WOKEN, 0, n);
    struct who_victim victim = {0};

    (void)state;
    for (int64_t i = 0; i < n; i++)
        ran(&who, 0, STATE_RUNNING, i, i + 1, (int)(i % 2));
    assert_int_equal(sched_who_waited(&who, &victim, &wait), 0);
    expect(&who, 0, 1, WHO_RUNS / 2, WHO_RUNS / 2);
    expect(&who, RUN_UNKNOWN, 1, n - WHO_RUNS, n - WHO_RUNS);
    expect_sums(&victim);
    who_victim_done(&victim);
    sched_who_done(&who);
}

/* Waits that end before others that were looked at, and runs after them. */
static void test_who_in_any_order(void **state)
{
    struct sched_who who = new_who;
    struct who_victim victim = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        ran(&who, 0, STATE_RUNNING, 10 * i, 10 * i + 8, i);
    for (int i = 0; i < 1000; i++) {
        /* Ends between two runs, at the end of one, and within one. */
        int64_t begin = 10 * (i * 367 % 990), end = begin + 10 + i % 11;
        struct state_interval wait = of_thread(STATE_WOKEN, begin, end);
        int64_t sum = 0;

        assert_int_equal(sched_who_waited(&who, &victim, &wait), 0);
        for (unsigned j = 0; j < who.n; j++) {
            const struct who_pair *pair = &victim.pairs[who.list[j].pair];

            if (pair->wait != who.n_waits)
                continue;
            if (pair->by >= 0)
                assert_int_equal(pair->in_wait,
                                 MIN(10 * pair->by + 8, end) - MAX(10 * pair->by, begin));
            sum += pair->in_wait;
        }
        assert_int_equal(sum, end - begin);
        expect_sums(&victim);
    }
    who_victim_done(&victim);
    sched_who_done(&who);
}

static void test_who_too_many(void **state)
{
    struct sched_who who = new_who;
    struct who_victim victims[5] = {0};
    struct state_interval wait = of_thread(STATE_WOKEN, 0, WHO_RUNS);

    (void)state;
    for (int i = 0; i < WHO_RUNS; i++)
        ran(&who, 0, STATE_RUNNING, i, i + 1, i << 16);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(sched_who_waited(&who, &victims[i], &wait), 0);
    assert_int_equal(who.n, WHO_PAIRS_MAX + 1);
    expect(&who, 5 << 16, 1, 1, 1);
    expect(&who, WHO_OTHERS, 1, WHO_RUNS, WHO_RUNS);
    for (unsigned i = 0; i < 5; i++)
        who_victim_done(&victims[i]);
    sched_who_done(&who);
}

/* ---- stolen time ---- */

static const char vm, other_vm; /* machines */

static void put(struct steal *steal, struct state_interval interval)
{
    assert_int_equal(steal_put(steal, &vm, &interval), 0);
}

static void expect_times(struct steal *steal, int64_t guest_time, int64_t vmm, int64_t stolen,
                         int64_t stolen_idle, int64_t halted)
{
    const int64_t expected[STEAL_PARTS] = {guest_time, vmm, stolen, stolen_idle, halted};
    const int64_t *times;

    assert_int_equal(steal_finish(steal), 0);
    times = steal_times(steal, &vm, 0);
    assert_non_null(times);
    for (unsigned i = 0; i < STEAL_PARTS; i++)
        assert_int_equal(times[i], expected[i]);
}

static void test_steal(void **state)
{
    struct steal steal = {0};
    struct state_interval run = of_thread(STATE_RUNNING, 50, 100);

    (void)state;
    put(&steal, of_thread(STATE_RUNNING, 0, 10));
    assert_null(steal_times(&steal, &vm, 0));
    put(&steal, of_thread(STATE_PREEMPTED, 10, 50));
    put(&steal, of_cpu(&guest, STATE_IDLE, 0, 15, 0));
    put(&steal, of_cpu(&guest, STATE_RUNNING, 15, 30, 9));
    run.inside = 45;
    run.enters = true;
    put(&steal, run);
    put(&steal, of_thread(STATE_SLEEPING, 100, 120));
    put(&steal, of_thread(STATE_WOKEN, 120, 130));
    put(&steal, of_cpu(&guest, STATE_INTERRUPT, 30, 32, 9));
    /* Of 32 to 40 nothing is known. */
    put(&steal, of_cpu(&guest, STATE_RUNNING, 40, 90, 9));
    put(&steal, of_thread(STATE_UNKNOWN, 130, 150));
    put(&steal, of_cpu(&guest, STATE_IDLE, 90, 200, 0));
    /* Where it was in its first run is not known. */
    expect_times(&steal, 45, 5, 15 + 2 + 10, 5 + 10, 20);
    assert_null(steal_times(&steal, &vm, 1));
    steal_done(&steal);
}

/* vCPUs of several machines have the same numbers. */
static void test_steal_of_machines(void **state)
{
    struct steal steal = {0};
    struct state_interval wait = of_thread(STATE_PREEMPTED, 10, 50);
    struct state_interval idle = of_cpu(&guest, STATE_IDLE, 0, 60, 0);

    (void)state;
    put(&steal, wait);
    assert_int_equal(steal_put(&steal, &other_vm, &idle), 0);
    put(&steal, of_cpu(&guest, STATE_RUNNING, 0, 60, 9));
    assert_int_equal(steal_put(&steal, NULL, &idle), 0);
    expect_times(&steal, 0, 0, 40, 0, 0);
    assert_null(steal_times(&steal, &other_vm, 0));
    steal_done(&steal);
}

struct given {
    struct steal_wait waits[8];
    unsigned n;
};

static int keep(void *arg, const struct steal_wait *wait)
{
    struct given *given = arg;

    assert_true(given->n < ARRAY_SIZE(given->waits));
    given->waits[given->n++] = *wait;
    return 0;
}

/* The parts of waits follow each other, and together are the waits. */
static void test_steal_waits(void **state)
{
    struct given given = {0};
    struct steal steal = {.put_wait = keep, .arg = &given};
    static const struct steal_wait expected[] = {
        {&vm, &host, 0, STEAL_PARTS, 10, 12},  {&vm, &host, 0, STEAL_STOLEN, 12, 20},
        {&vm, &host, 0, STEAL_PARTS, 20, 25},  {&vm, &host, 0, STEAL_STOLEN_IDLE, 25, 40},
        {&vm, &host, 0, STEAL_STOLEN, 40, 50}, {&vm, &host, 0, STEAL_STOLEN, 60, 70},
        {&vm, &host, 0, STEAL_PARTS, 70, 80},
    };

    (void)state;
    put(&steal, of_thread(STATE_PREEMPTED, 10, 50));
    put(&steal, of_cpu(&guest, STATE_RUNNING, 12, 20, 9));
    put(&steal, of_cpu(&guest, STATE_IDLE, 25, 40, 0));
    assert_int_equal(given.n, 0);
    put(&steal, of_cpu(&guest, STATE_RUNNING, 40, 70, 9));
    put(&steal, of_thread(STATE_RUNNING, 50, 60));
    put(&steal, of_thread(STATE_WOKEN, 60, 80));
    assert_int_equal(steal_finish(&steal), 0);
    assert_int_equal(given.n, ARRAY_SIZE(expected));
    for (unsigned i = 0; i < given.n; i++) {
        assert_ptr_equal(given.waits[i].origin, expected[i].origin);
        assert_int_equal(given.waits[i].vcpu, 0);
        assert_int_equal(given.waits[i].part, expected[i].part);
        assert_int_equal(given.waits[i].begin, expected[i].begin);
        assert_int_equal(given.waits[i].end, expected[i].end);
    }
    steal_done(&steal);
}

/* While intervals come: what both sides have come to. */
static void test_steal_so_far(void **state)
{
    int64_t times[STEAL_PARTS + 1];
    struct steal steal = {0};

    (void)state;
    put(&steal, of_thread(STATE_RUNNING, 0, 10));
    put(&steal, of_thread(STATE_PREEMPTED, 10, 50));
    put(&steal, of_cpu(&guest, STATE_RUNNING, 0, 30, 9));
    assert_int_equal(steal_times_so_far(&steal, 0, 10, times), 0);
    assert_int_equal(times[STEAL_GUEST], 10);
    assert_int_equal(times[STEAL_STOLEN], 0);
    assert_int_equal(times[STEAL_PARTS], 0);
    put(&steal, of_cpu(&guest, STATE_UNKNOWN, 30, 35, 9));
    put(&steal, of_cpu(&guest, STATE_IDLE, 40, 60, 0));
    steal_times_so_far(&steal, 0, 10, times);
    assert_int_equal(times[STEAL_STOLEN], 20);
    assert_int_equal(times[STEAL_STOLEN_IDLE], 10);
    assert_int_equal(times[STEAL_PARTS], 10);
    steal_done(&steal);
}

/* What a vCPU ran before it was seen to enter its guest is divided when it enters. */
static void test_steal_runs(void **state)
{
    struct state_interval run = {.begin = 0, .end = 10, .inside = 0};
    struct steal_runs runs = {0};
    struct steal_split split;

    (void)state;
    steal_runs_add(&runs, &run);
    run.inside = -1;
    run.end = 3;
    steal_runs_add(&runs, &run);
    split = steal_runs_split(&runs, false, 14);
    assert_int_equal(split.guest + split.vmm + split.unknown, 0);
    split = steal_runs_split(&runs, false, 13); /* for so long, it would have entered */
    assert_int_equal(split.guest, 13);
    assert_int_equal(split.vmm, 0);
    split = steal_runs_split(&runs, true, 14);
    assert_int_equal(split.guest, 13);
    run = (struct state_interval){.begin = 20, .end = 30, .inside = 4, .enters = true};
    steal_runs_add(&runs, &run);
    split = steal_runs_split(&runs, false, 14);
    assert_int_equal(split.guest, 4);
    assert_int_equal(split.vmm, 16);
    assert_int_equal(split.unknown, 3);
}

/* A guest that says nothing for long, or a host: what is known is not lost, and memory is bounded. */
static void test_steal_bounds(void **state)
{
    struct steal steal = {0};
    int64_t n = 5 * STEAL_HELD;

    (void)state;
    put(&steal, of_cpu(&guest, STATE_RUNNING, 0, 10, 9));
    for (int64_t i = 0; i < n; i++) {
        put(&steal, of_thread(STATE_RUNNING, 2 * i, 2 * i + 1));
        put(&steal, of_thread(STATE_PREEMPTED, 2 * i + 1, 2 * i + 2));
    }
    expect_times(&steal, n, 0, 5, 0, 0);
    steal_done(&steal);
    for (int64_t i = 0; i < n; i++)
        put(&steal, of_cpu(&guest, i % 2 ? STATE_RUNNING : STATE_IDLE, i, i + 1, 9));
    put(&steal, of_thread(STATE_PREEMPTED, 0, n));
    expect_times(&steal, 0, 0, STEAL_HELD / 2, STEAL_HELD / 2, 0);
    steal_done(&steal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who),          cmocka_unit_test(test_who_in_any_order),
        cmocka_unit_test(test_who_too_many), cmocka_unit_test(test_who_long_ago),
        cmocka_unit_test(test_steal),        cmocka_unit_test(test_steal_of_machines),
        cmocka_unit_test(test_steal_waits),  cmocka_unit_test(test_steal_so_far),
        cmocka_unit_test(test_steal_runs),   cmocka_unit_test(test_steal_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
