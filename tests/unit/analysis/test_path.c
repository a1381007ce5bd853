/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/path/walk.h"
#include "base/macro.h"
#include "event/kernel.h"

/* A thread runs for 3 ticks and sleeps for 7, on one CPU. Another one runs meanwhile and wakes it. */
#define SLEEPER 1
#define WAKER 2
#define ROUND 10

#define NUMBER(field, at)                                                                \
    {                                                                                    \
        .name = (field), .c_type = "int", .type = FIELD_INT, .offset = (at), .size = (4) \
    }

static const struct field switch_fields[] = {NUMBER("prev_pid", 0), NUMBER("prev_state", 4),
                                             NUMBER("next_pid", 8)};
static const struct field wake_fields[] = {NUMBER("pid", 0), NUMBER("target_cpu", 4)};
static const struct field irq_fields[] = {NUMBER("irq", 0)};
static const struct field complete_fields[] = {NUMBER("nr_sector", 0),
                                               {.name = "rwbs",
                                                .c_type = "char[4]",
                                                .type = FIELD_STRING,
                                                .storage = STORE_ARRAY,
                                                .offset = 4,
                                                .size = 4}};

struct world {
    struct catalogue catalogue;
    struct origin *kernel;
    struct event_class *change, *waking, *irq, *irq_end, *complete;
    struct history history;
    struct path_walk walk;
};

static struct event_class *add(struct world *w, const char *name, const struct field *fields,
                               unsigned n)
{
    struct event_class class = {.name = name, .origin = w->kernel, .fields = fields, .n_fields = n};
    struct event_class *added;

    assert_int_equal(catalogue_add(&w->catalogue, &class, &added), 0);
    return added;
}

static int setup(void **state)
{
    static const struct origin_kernel kernel = {.long_size = 8};
    struct world *w = calloc(1, sizeof *w);
    struct origin origin = {.layer = LAYER_HOST,
                            .format = "made",
                            .path = "h",
                            .clock = {"monotonic", NANOSECONDS},
                            .kernel = &kernel};

    w->kernel = catalogue_add_origin(&w->catalogue, &origin);
    w->change = add(w, "sched_switch", switch_fields, ARRAY_SIZE(switch_fields));
    w->waking = add(w, "sched_waking", wake_fields, ARRAY_SIZE(wake_fields));
    w->irq = add(w, "irq_handler_entry", irq_fields, ARRAY_SIZE(irq_fields));
    w->irq_end = add(w, "irq_handler_exit", irq_fields, ARRAY_SIZE(irq_fields));
    w->complete = add(w, "block_rq_complete", complete_fields, ARRAY_SIZE(complete_fields));
    history_init(&w->history);
    w->walk.history = &w->history;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    path_walk_done(&w->walk);
    history_done(&w->history);
    catalogue_done(&w->catalogue);
    free(w);
    return 0;
}

static void put(struct world *w, struct event_class *class, int64_t time, int32_t pid, int32_t a,
                int32_t b, int32_t c)
{
    const int32_t payload[] = {a, b, c};
    const struct item item = {.time = time,
                              .origin = w->kernel,
                              .class = class,
                              .payload = (const uint8_t *)payload,
                              .size = sizeof payload,
                              .cpu = 0,
                              .pid = pid,
                              .vcpu = VCPU_UNKNOWN};

    assert_int_equal(history_put(&w->history, &item), 0);
    assert_int_equal(history_put_states(&w->history, &item, 1), 0);
    if (history_is_crowded(&w->history)) {
        history_sort(&w->history);
        history_drop_oldest(&w->history, history_next_drop(&w->history));
    }
}

/* Round number I: the sleeper sleeps from +3 on, and is woken at +8; by an interrupt from +7 on in every third one. */
static void put_round(struct world *w, int64_t i)
{
    int64_t begin = i * ROUND;

    put(w, w->change, begin + 3, SLEEPER, SLEEPER, 1, WAKER);
    if (i % 3 == 0)
        put(w, w->irq, begin + 7, WAKER, 5, 0, 0);
    put(w, w->waking, begin + 8, WAKER, SLEEPER, 0, 0);
    if (i % 3 == 0)
        put(w, w->irq_end, begin + 9, WAKER, 5, 0, 0);
    put(w, w->change, begin + 10, WAKER, WAKER, 0, SLEEPER);
}

static void walk(struct world *w, int64_t begin, int64_t end)
{
    const struct path_end sleeper = {.origin = w->kernel, .pid = SLEEPER};
    int64_t at = begin;

    assert_int_equal(path_walk_thread(&w->walk, &sleeper, begin, end), 0);
    for (unsigned i = 0; i < w->walk.n; i++) { /* PATH-1 */
        assert_int_equal(w->walk.segments[i].begin, at);
        assert_true(w->walk.segments[i].end > at);
        at = w->walk.segments[i].end;
    }
    assert_int_equal(at, end);
}

static void assert_segment(const struct world *w, unsigned i, enum path_what what, int32_t pid,
                           int64_t ticks)
{
    const struct path_segment *segment = &w->walk.segments[i];

    assert_true(i < w->walk.n);
    assert_int_equal(segment->what, what);
    assert_int_equal(segment->pid, pid);
    assert_int_equal(segment->end - segment->begin, ticks);
}

static void test_wakers(void **state)
{
    struct world *w = *state;

    for (int64_t i = 0; i < 30; i++)
        put_round(w, i);
    assert_int_equal(history_finish(&w->history), 0);
    /* Of round 10, until it runs again: the other one runs, and wakes it; and it waits for that. */
    walk(w, 10 * ROUND, 11 * ROUND + 2);
    assert_int_equal(w->walk.n, 4);
    assert_segment(w, 0, PATH_RUNS, SLEEPER, 3);
    assert_segment(w, 1, PATH_RUNS, WAKER, 5);
    assert_segment(w, 2, PATH_WAITS, SLEEPER, 2);
    assert_int_equal(w->walk.segments[2].n_behind, 1);
    assert_int_equal(w->walk.behind[w->walk.segments[2].first_behind].by, WAKER);
    assert_segment(w, 3, PATH_RUNS, SLEEPER, 2);
    /* Of round 12, an interrupt wakes it, and goes on. */
    walk(w, 12 * ROUND + 3, 13 * ROUND);
    assert_int_equal(w->walk.n, 2);
    assert_segment(w, 0, PATH_INTERRUPT, SLEEPER, 5);
    assert_segment(w, 1, PATH_WAITS, SLEEPER, 2);
    assert_int_equal(w->walk.segments[1].n_behind, 2);
    /* It sleeps at the end. */
    walk(w, 10 * ROUND + 3, 10 * ROUND + 6);
    assert_int_equal(w->walk.n, 1);
    assert_int_equal(w->walk.segments[0].reason, PATH_NOT_WOKEN);
}

/* A thread waits for a flush, which ends with the completion of an empty write, before the thread is woken. */
static void test_flush(void **state)
{
    struct world *w = *state;
    struct io_request flush = {.origin = w->kernel,
                               .kind = IO_FLUSH,
                               .pid = SLEEPER,
                               .vmm_pid = PID_UNKNOWN,
                               .kick_pid = PID_UNKNOWN};
    int32_t ff, ws;
    uint64_t number;

    memcpy(&ff, "FF\0", 4);
    memcpy(&ws, "WS\0", 4);
    for (unsigned i = 0; i < IO_POINTS; i++)
        flush.at[i] = TIME_UNKNOWN;
    flush.at[IO_QUEUED] = 1003;
    flush.at[IO_ISSUED] = 1004;
    flush.at[IO_COMPLETED] = 1007;
    put(w, w->change, 1000, WAKER, WAKER, 0, SLEEPER);
    put(w, w->change, 1003, SLEEPER, SLEEPER, 1, WAKER);
    put(w, w->irq, 1006, WAKER, 5, 0, 0);
    put(w, w->complete, 1007, WAKER, 0, ff, 0);
    put(w, w->complete, 1008, WAKER, 0, ws, 0);
    put(w, w->waking, 1009, WAKER, SLEEPER, 0, 0);
    put(w, w->irq_end, 1010, WAKER, 5, 0, 0);
    put(w, w->change, 1011, WAKER, WAKER, 0, SLEEPER);
    put(w, w->change, 1012, SLEEPER, SLEEPER, 1, WAKER);
    assert_int_equal(history_put_request(&w->history, &flush, &number), 0);
    assert_int_equal(history_finish(&w->history), 0);
    history_sort(&w->history);
    walk(w, 1003, 1009);
    assert_int_equal(w->walk.n, 2);
    assert_segment(w, 0, PATH_QUEUED, PID_UNKNOWN, 1);
    assert_segment(w, 1, PATH_DISK, PID_UNKNOWN, 5);
}

/* What is older than the states that are kept is unknown; the rest is not. */
static void test_oldest(void **state)
{
    struct world *w = *state;
    int64_t n = 20000, kept;

    w->history.max = w->history.limit = 1000;
    for (int64_t i = 0; i < n; i++) {
        put_round(w, i);
        /* As many as are held back (STATES_HELD) come at once. */
        assert_true(w->history.n_states <= 1000 + 3 * STATES_HELD);
    }
    assert_int_equal(history_finish(&w->history), 0);
    kept = w->history.gone_until / ROUND + 2;
    assert_true(kept > n / 2 && kept < n - 10);
    for (int64_t i = kept; i < n - 2; i++) {
        walk(w, i * ROUND + 3, (i + 1) * ROUND);
        for (unsigned j = 0; j < w->walk.n; j++)
            assert_int_not_equal(w->walk.segments[j].what, PATH_UNKNOWN);
    }
    walk(w, 30, 60);
    assert_int_equal(w->walk.n, 1);
    assert_int_equal(w->walk.segments[0].what, PATH_UNKNOWN);
    assert_int_equal(w->walk.segments[0].reason, PATH_TOO_OLD);
}

/* While a guest has few states, which come late, what the host did is kept for them. */
static void test_late_guest(void **state)
{
    struct world *w = *state;
    struct origin origin = *w->kernel, *host = w->kernel, *guest;
    struct event_class *guest_change;

    origin.layer = LAYER_GUEST;
    origin.path = "g";
    origin.number = 1;
    guest = w->kernel = catalogue_add_origin(&w->catalogue, &origin);
    guest_change = add(w, "sched_switch", switch_fields, ARRAY_SIZE(switch_fields));
    w->history.max = w->history.limit = 4000;
    for (int64_t i = 0; i < 3000; i++) {
        w->kernel = host;
        put_round(w, i);
        w->kernel = guest;
        if (i % 50 == 0)
            put(w, guest_change, i * ROUND + ROUND, SLEEPER, SLEEPER, 1, WAKER);
        if (i % 50 == 25)
            put(w, guest_change, i * ROUND + ROUND, WAKER, WAKER, 1, SLEEPER);
    }
    assert_true(w->history.n_states > 4000);
    assert_int_equal(w->history.gone_until, INT64_MIN);
    assert_int_equal(history_finish(&w->history), 0);
    w->kernel = host;
    walk(w, 33, 40);
    assert_int_not_equal(w->walk.segments[0].what, PATH_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wakers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flush, setup, teardown),
        cmocka_unit_test_setup_teardown(test_oldest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_guest, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
