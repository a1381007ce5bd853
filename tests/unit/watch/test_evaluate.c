/* SPDX-License-Identifier: MIT */
/* watch/evaluate.h: conditions on windows of a directory that grows. */
#include "cmocka_all.h"

#include "trace_dir.h"

#include "watch/evaluate.h"

#define MS INT64_C(1000000)

struct watched {
    struct trace_dir dir;
    struct arena arena;
    struct watch_condition conditions[8];
    unsigned n;
    struct watch_evaluator *evaluator;
    char seen[4096]; /* "INDEX MS TEXT\n" and "! INDEX TEXT\n" of the last window */
};

static void fired(void *arg, unsigned index, int64_t ns, const char *text)
{
    struct watched *watched = arg;
    size_t len = strlen(watched->seen);

    snprintf(watched->seen + len, sizeof watched->seen - len, "%u %lld %s\n", index,
             (long long)(ns / MS), text);
}

static void problem(void *arg, unsigned index, const char *text)
{
    struct watched *watched = arg;
    size_t len = strlen(watched->seen);

    snprintf(watched->seen + len, sizeof watched->seen - len, "! %u %s\n", index, text);
}

static void watch(struct watched *watched, const char *const *texts)
{
    const struct watch_report report = {fired, problem, watched};

    *watched = (struct watched){.n = 0};
    trace_dir_make(&watched->dir);
    for (; texts[watched->n]; watched->n++)
        assert_int_equal(watch_condition_parse(texts[watched->n], &watched->arena,
                                               &watched->conditions[watched->n], NULL),
                         0);
    assert_int_equal(
        watch_evaluator_new(watched->conditions, watched->n, &report, &watched->evaluator), 0);
}

static void unwatch(struct watched *watched)
{
    watch_evaluator_free(watched->evaluator);
    arena_done(&watched->arena);
    trace_dir_remove(&watched->dir);
}

/* The window (FROM, TO], ms, for which sources LATE have more still, shows EXPECTED. IS_IN_LOSS: a loss has begun before all that
 * is read. */
static void expect_window(struct watched *watched, int64_t from, int64_t to, const char *late,
                          bool is_in_loss, const char *expected)
{
    const char *events[] = {watched->dir.events};
    struct trace_options options = {.events = events, .n_events = 1};
    struct live_window window = {.dir = watched->dir.path,
                                 .from = from * MS,
                                 .to = to * MS,
                                 .look_back = watch_evaluator_look_back(watched->evaluator, late),
                                 .late = late,
                                 .options = &options};
    struct sink *sink;
    int r;

    watched->seen[0] = '\0';
    assert_int_equal(live_window_open(&window), 0);
    assert_int_equal(watch_evaluator_begin(watched->evaluator, &window, &sink), 0);
    if (is_in_loss)
        assert_int_equal(
            sink_begin_loss(sink, &(struct item){.kind = ITEM_EVENT,
                                                 .origin = window.trace->catalogue.origins[0],
                                                 .time = 1,
                                                 .before_loss = true,
                                                 .cpu = CPU_UNKNOWN,
                                                 .pid = PID_UNKNOWN,
                                                 .vcpu = VCPU_UNKNOWN}),
            0);
    r = live_window_put(&window, &sink, 1);
    assert_int_equal(watch_evaluator_end(watched->evaluator, r), 0);
    live_window_done(&window);
    assert_string_equal(watched->seen, expected);
}

static void expect_late(struct watched *watched, int64_t from, int64_t to, const char *late,
                        const char *expected)
{
    expect_window(watched, from, to, late, false, expected);
}

static void expect(struct watched *watched, int64_t from, int64_t to, const char *expected)
{
    expect_late(watched, from, to, NULL, expected);
}

static void events_fire_once_per_window(void **state)
{
    static const char *const texts[] = {"vmm:marker{n >= 3}", "begin", NULL};
    struct watched watched;

    watch(&watched, texts);
    for (unsigned i = 1; i <= 9; i++)
        trace_dir_put(&watched.dir, 10 * i, i);
    /* Both are known: the file declares them as it names them. */
    expect(&watched, 0, 20, "");
    expect(&watched, 20, 50, "0 30 3 events, first at 0.030000 by thread 7 [vmm]: marker n 3\n");
    expect(&watched, 50, 60, "0 60 1 event at 0.060000 by thread 7 [vmm]: marker n 6\n");
    trace_dir_event(&watched.dir, EVENT_BEGIN, 100, 1);
    expect(&watched, 90, 100, "1 100 1 event at 0.100000 by thread 7 [vmm]: begin n 1\n");
    watch_evaluator_idle(watched.evaluator, 100 * MS, 110 * MS);
    unwatch(&watched);
}

static void what_is_not_there_is_told_once(void **state)
{
    static const char *const texts[] = {"vmm:markr", "marker{m == 1}",
                                        "latency begin(n) -> finsh(n) > 1ms", "guest:marker", NULL};
    struct watched watched;

    watch(&watched, texts);
    trace_dir_put(&watched.dir, 10, 1);
    trace_dir_put(&watched.dir, 20, 1);
    expect(&watched, 0, 15,
           "! 0 no source records an event 'vmm:markr' so far; did you mean 'marker'?\n"
           "! 1 marker: column 1 of the condition: the event has no argument 'm'; 'm == 1'\n"
           "! 2 no source records an event 'finsh' so far; did you mean 'finish'?\n");
    expect(&watched, 15, 30, "");
    unwatch(&watched);
}

static void a_span_fires_when_it_is_too_long(void **state)
{
    static const char *const texts[] = {"latency begin(n) -> finish(n) > 50ms", NULL};
    struct watched watched;

    watch(&watched, texts);
    assert_int_equal(watch_evaluator_look_back(watched.evaluator, NULL), 50 * MS);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 10, 1);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 20, 2);
    trace_dir_event(&watched.dir, EVENT_FINISH, 40, 1);
    trace_dir_put(&watched.dir, 60, 0);
    expect(&watched, 0, 60, "");
    /* While it hangs. */
    trace_dir_put(&watched.dir, 100, 0);
    expect(&watched, 60, 100,
           "0 70 1 span, 80.0ms and not ended, since at 0.020000 by thread 7 [vmm]\n");
    /* Not again when it ends. */
    trace_dir_event(&watched.dir, EVENT_FINISH, 110, 2);
    expect(&watched, 100, 140, "");
    /* Several, all in one window; one exactly as long as the limit is not over it. */
    for (unsigned i = 0; i < 3; i++)
        trace_dir_event(&watched.dir, EVENT_BEGIN, 150 + i, 10 + i);
    trace_dir_event(&watched.dir, EVENT_FINISH, 200, 10);
    trace_dir_event(&watched.dir, EVENT_FINISH, 210, 11);
    trace_dir_event(&watched.dir, EVENT_FINISH, 230, 12);
    expect(&watched, 140, 240, "0 201 2 spans, the longest 78.0ms at 0.152000 by thread 7 [vmm]\n");
    unwatch(&watched);
}

static void a_span_in_a_loss_may_have_ended(void **state)
{
    static const char *const texts[] = {"latency begin(n) -> finish(n) > 10ms", NULL};
    struct watched watched;

    watch(&watched, texts);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 100, 1);
    trace_dir_event(&watched.dir, EVENT_FINISH, 120, 1);
    expect_window(&watched, 90, 130, NULL, true, "");
    trace_dir_event(&watched.dir, EVENT_BEGIN, 200, 2);
    trace_dir_event(&watched.dir, EVENT_FINISH, 220, 2);
    expect(&watched, 190, 230, "0 210 1 span, 20.0ms at 0.200000 by thread 7 [vmm]\n");
    unwatch(&watched);
}

/* What a source that is late has not handed over may be the end of a span. */
static void a_span_of_a_late_source_may_have_ended(void **state)
{
    static const char *const texts[] = {"latency begin(n) -> finish(n) > 50ms", NULL};
    struct watched watched;

    watch(&watched, texts);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 10, 1);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 12, 2);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 14, 3);
    trace_dir_put(&watched.dir, 30, 0);
    expect_late(&watched, 0, 100, "guest vmm", "");
    expect_late(&watched, 100, 200, "*", "");
    /* It comes later: one ended in time, two did not, and one has not. */
    trace_dir_event(&watched.dir, EVENT_FINISH, 40, 1);
    trace_dir_event(&watched.dir, EVENT_FINISH, 150, 2);
    trace_dir_put(&watched.dir, 160, 0);
    expect_late(
        &watched, 200, 300, "vmm",
        "0 62 2 spans, the longest 146ms and not ended, since at 0.014000 by thread 7 [vmm]\n");
    /* Once, also while others are not decided. */
    trace_dir_event(&watched.dir, EVENT_BEGIN, 310, 4);
    expect_late(&watched, 300, 400, "vmm", "");
    expect(&watched, 400, 500,
           "0 360 1 span, 190ms and not ended, since at 0.310000 by thread 7 [vmm]\n");
    /* One that is not late has no more of the window, even if it has no later event. */
    trace_dir_event(&watched.dir, EVENT_BEGIN, 510, 5);
    expect_late(&watched, 500, 600, "guest vmm2",
                "0 560 1 span, 90.0ms and not ended, since at 0.510000 by thread 7 [vmm]\n");
    expect(&watched, 600, 700, "");
    unwatch(&watched);
}

/* Windows without anything are not read; a span may cross the limit in one. */
static void a_span_crosses_where_nothing_happens(void **state)
{
    static const char *const texts[] = {"latency begin(n) -> finish(n) > 50ms", NULL};
    struct watched watched;

    watch(&watched, texts);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 960, 1);
    expect(&watched, 0, 1000, "");
    watch_evaluator_idle(watched.evaluator, 1000 * MS, 2000 * MS);
    watch_evaluator_idle(watched.evaluator, 2000 * MS, 5000 * MS);
    trace_dir_put(&watched.dir, 5500, 0);
    expect(&watched, 5000, 6000,
           "0 1010 1 span, 5.04s and not ended, since at 0.960000 by thread 7 [vmm]\n");
    expect(&watched, 6000, 7000, "");
    unwatch(&watched);
}

/* What a paused guest still held comes when it goes on: begins of spans that the windows meanwhile did not see. */
static void a_span_that_comes_late_counts(void **state)
{
    static const char *const texts[] = {"latency begin(n) -> finish(n) > 50ms", NULL};
    struct watched watched;

    watch(&watched, texts);
    expect(&watched, 0, 1000, "");
    trace_dir_put(&watched.dir, 1010, 0);
    expect_late(&watched, 1000, 2000, "vmm", "");
    expect_late(&watched, 2000, 5000, "vmm", "");
    trace_dir_event(&watched.dir, EVENT_BEGIN, 1110, 1);
    trace_dir_event(&watched.dir, EVENT_BEGIN, 1115, 2);
    trace_dir_event(&watched.dir, EVENT_FINISH, 1130, 2);
    trace_dir_event(&watched.dir, EVENT_FINISH, 5100, 1);
    expect_late(&watched, 5000, 6000, "host", "");
    trace_dir_put(&watched.dir, 6500, 0);
    expect(&watched, 6000, 7000, "0 1160 1 span, 3.99s at 1.110000 by thread 7 [vmm]\n");
    expect(&watched, 7000, 8000, "");
    unwatch(&watched);
}

/* With pairs of its clock that come later, its times may become others, within their errors. */
static void a_span_of_a_late_source_may_move(void **state)
{
    static const char *const texts[] = {"latency begin(n) -> finish(n) > 50ms", NULL};
    static const char source[] =
        "{\"name\": \"vmm\", \"kind\": \"simpletrace\", \"layer\": \"vmm\", \"path\": "
        "\"vmm.trace\", \"events\": [\"events\"], \"clock\": {\"name\": \"monotonic\", \"hz\": "
        "1000000000, \"pairs\": \"pairs\"}}";
    struct watched watched;

    watch(&watched, texts);
    trace_dir_manifest(&watched.dir, source);
    trace_dir_file(&watched.dir, "pairs", "1000000 1000000 100000\n5000000 5000000 100000\n");
    trace_dir_event(&watched.dir, EVENT_BEGIN, 10, 1);
    trace_dir_put(&watched.dir, 30, 0);
    expect_late(&watched, 0, 100, "vmm", "");
    trace_dir_file(&watched.dir, "pairs",
                   "1000000 1000000 100000\n5000000 5000000 100000\n199960000 200000000 1000\n");
    trace_dir_event(&watched.dir, EVENT_FINISH, 150, 1);
    trace_dir_put(&watched.dir, 160, 0);
    expect(&watched, 100, 200, "0 59 1 span, 140ms at 0.009998 +-95us by thread 7 [vmm]\n");
    expect(&watched, 200, 300, "");
    unwatch(&watched);
}

static void a_percentile_fires_where_it_rises(void **state)
{
    static const char *const texts[] = {"latency p90 begin(n) -> finish(n) > 5ms", NULL};
    struct watched watched;
    unsigned at = 1000;

    watch(&watched, texts);
    /* In windows of 1 s: 9 long ones say nothing; 10 do, once; after 10 short ones again. */
    for (unsigned window = 1; window <= 5; window++) {
        unsigned n = window == 1 ? 9 : 10, ms = window == 4 ? 1 : 10;

        at = 1000 * window;
        for (unsigned i = 0; i < n; i++) {
            trace_dir_event(&watched.dir, EVENT_BEGIN, at + 20 * i + 1, at + i);
            trace_dir_event(&watched.dir, EVENT_FINISH, at + 20 * i + 1 + ms, at + i);
        }
    }
    expect(&watched, 1000, 2000, "");
    expect(&watched, 2000, 3000, "0 3000 p90 of 10 spans is 10.0ms at 3.000000\n");
    expect(&watched, 3000, 4000, "");
    expect(&watched, 4000, 5000, "");
    expect(&watched, 5000, 6000, "0 6000 p90 of 10 spans is 10.0ms at 6.000000\n");
    unwatch(&watched);
}

static void losses_fire(void **state)
{
    static const char *const texts[] = {"lost", "lost > 10", NULL};
    struct watched watched;

    watch(&watched, texts);
    trace_dir_put(&watched.dir, 10, 1);
    trace_dir_lose(&watched.dir, 20, 4);
    trace_dir_put(&watched.dir, 30, 1);
    trace_dir_lose(&watched.dir, 40, 5);
    trace_dir_lose(&watched.dir, 50, 6);
    trace_dir_put(&watched.dir, 60, 1);
    expect(&watched, 0, 10, "");
    expect(&watched, 10, 30, "0 20 4 events lost, first at 0.020000 [vmm]\n");
    expect(&watched, 30, 60,
           "0 40 11 events lost, first at 0.040000 [vmm]\n"
           "1 40 11 events lost, first at 0.040000 [vmm]\n");
    unwatch(&watched);
}

static void exits_fire_against_what_was_before(void **state)
{
    static const char *const texts[] = {"exits > 2x", "exits > 500/s", NULL};
    /* By windows of 2 s. */
    static const unsigned n[] = {400, 400, 400, 400, 400, 700, 800, 800, 400, 2000};
    static const char both[] = "0 20000 1000 exits/s, 3.8 times the 261/s of before at 20.000000\n"
                               "1 20000 1000 exits/s at 20.000000\n";
    struct watched watched;

    watch(&watched, texts);
    for (unsigned i = 0; i < ARRAY_SIZE(n); i++) {
        for (unsigned j = 0; j < n[i]; j++)
            trace_dir_event(&watched.dir, EVENT_EXIT, 2000 * i + 1 + j % 2000, 0);
        expect(&watched, 2000 * i, 2000 * (i + 1), i + 1 < ARRAY_SIZE(n) ? "" : both);
    }
    unwatch(&watched);
}

/* A window with a loss has a rate that may be too small: others are not compared with it. */
static void exits_are_not_compared_with_losses(void **state)
{
    static const char *const texts[] = {"exits > 2x", NULL};
    struct watched watched;

    watch(&watched, texts);
    for (unsigned i = 0; i < 16; i++) {
        bool is_lossy = i >= 5 && i < 15;

        for (unsigned j = 0; j < (is_lossy ? 10 : 600); j++)
            trace_dir_event(&watched.dir, EVENT_EXIT, 2000 * i + 1 + j * 3, 0);
        if (is_lossy)
            trace_dir_lose(&watched.dir, 2000 * i + 1900, 590);
    }
    for (unsigned i = 0; i < 16; i++)
        expect(&watched, 2000 * i, 2000 * (i + 1), "");
    unwatch(&watched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_fire_once_per_window),
        cmocka_unit_test(what_is_not_there_is_told_once),
        cmocka_unit_test(a_span_fires_when_it_is_too_long),
        cmocka_unit_test(a_span_in_a_loss_may_have_ended),
        cmocka_unit_test(a_span_of_a_late_source_may_have_ended),
        cmocka_unit_test(a_span_crosses_where_nothing_happens),
        cmocka_unit_test(a_span_that_comes_late_counts),
        cmocka_unit_test(a_span_of_a_late_source_may_move),
        cmocka_unit_test(a_percentile_fires_where_it_rises),
        cmocka_unit_test(losses_fire),
        cmocka_unit_test(exits_fire_against_what_was_before),
        cmocka_unit_test(exits_are_not_compared_with_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
