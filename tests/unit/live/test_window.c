/* SPDX-License-Identifier: MIT */
/* live/window.h and live/growth.h: windows of a directory that grows. */
#include "cmocka_all.h"

#include "trace_dir.h"

#include "live/growth.h"
#include "live/window.h"

#define MS INT64_C(1000000)

/* Writes down the times, in ms, of what it is given: "LOSS" before that of a loss, "PART" before that of one that goes on. */
struct times_sink {
    struct sink sink;
    char text[1024];
    unsigned n_begun, n_finished;
    int fails; /* put() */
};

static void times_begin(struct sink *sink)
{
    container_of(sink, struct times_sink, sink)->n_begun++;
}

static int times_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct times_sink *times = container_of(sink, struct times_sink, sink);
    size_t len = strlen(times->text);

    for (unsigned i = 0; i < n && len < sizeof times->text; i++)
        len += (size_t)snprintf(times->text + len, sizeof times->text - len, "%s%s%lld",
                                len ? " " : "",
                                items[i].kind == ITEM_EVENT ? ""
                                : items[i].goes_on          ? "PART "
                                                            : "LOSS ",
                                (long long)(items[i].time / MS));
    return times->fails;
}

static int times_finish(struct sink *sink)
{
    container_of(sink, struct times_sink, sink)->n_finished++;
    return 0;
}

static const struct sink_ops times_ops = {
    .begin = times_begin, .put = times_put, .finish = times_finish};

static int read_window(const struct trace_dir *dir, int64_t from, int64_t to, int64_t look_back,
                       struct times_sink *ret, struct live_window *ret_window)
{
    const char *events[] = {dir->events};
    struct trace_options options = {.events = events, .n_events = 1};
    struct sink *sinks[] = {&ret->sink};
    int r;

    *ret_window = (struct live_window){.dir = dir->path,
                                       .from = from * MS,
                                       .to = to * MS,
                                       .look_back = look_back * MS,
                                       .options = &options};
    r = live_window_open(ret_window);
    *ret = (struct times_sink){.sink.ops = &times_ops};
    if (r == 0)
        r = live_window_put(ret_window, sinks, 1);
    live_window_done(ret_window);
    return r;
}

static void expect(const struct trace_dir *dir, int64_t from, int64_t to, int64_t look_back,
                   const char *expected, unsigned n_items)
{
    struct times_sink times;
    struct live_window window;

    assert_int_equal(read_window(dir, from, to, look_back, &times, &window), 0);
    assert_string_equal(times.text, expected);
    assert_int_equal(window.n_items, n_items);
    assert_int_equal(window.error.code, 0);
    assert_int_equal(times.n_begun, 1);
    assert_int_equal(times.n_finished, 1);
}

static void windows_have_each_item_once(void **state)
{
    struct trace_dir dir;

    trace_dir_make(&dir);
    expect(&dir, 0, 100, 0, "", 0);
    for (unsigned i = 1; i <= 9; i++)
        trace_dir_put(&dir, 10 * i, i);
    expect(&dir, 0, 30, 0, "10 20 30", 3);
    expect(&dir, 30, 50, 0, "40 50", 2);
    /* What has come since then. */
    trace_dir_put(&dir, 100, 10);
    expect(&dir, 50, 200, 0, "60 70 80 90 100", 5);
    /* What is before comes, and does not count. */
    expect(&dir, 50, 70, 20, "40 50 60 70", 2);
    expect(&dir, 95, 96, 6, "90", 0);
    trace_dir_remove(&dir);
}

static void a_window_within_a_loss_says_so(void **state)
{
    struct trace_dir dir;

    trace_dir_make(&dir);
    trace_dir_put(&dir, 10, 1);
    trace_dir_lose(&dir, 60, 5);
    trace_dir_put(&dir, 70, 2);
    /* It begins in this window, goes on in the next one, and is told with its number where it ends. */
    expect(&dir, 0, 20, 0, "10 PART 20", 1);
    expect(&dir, 20, 40, 15, "10 PART 40", 0);
    expect(&dir, 40, 65, 0, "LOSS 60", 1);
    expect(&dir, 65, 80, 0, "70", 1);
    trace_dir_remove(&dir);
}

static void an_item_that_steps_back_is_not_cut_off(void **state)
{
    struct trace_dir dir;

    trace_dir_make(&dir);
    trace_dir_put(&dir, 10, 1);
    trace_dir_put(&dir, 40, 2);
    trace_dir_put(&dir, 20, 3);
    expect(&dir, 0, 30, 0, "10 20", 2);
    expect(&dir, 30, 50, 0, "40", 1);
    trace_dir_remove(&dir);
}

static void what_has_no_relation_in_time_yet_is_left_out(void **state)
{
    static const char late[] = TRACE_DIR_VMM
        ", {\"name\": \"log\", \"kind\": \"qemu-log\", \"layer\": \"vmm\", \"path\": \"log\","
        " \"clock\": {\"name\": \"realtime\", \"hz\": 1000000000, \"pairs\": \"pairs\"}}";
    struct trace_dir dir;
    struct times_sink times;
    struct live_window window;

    trace_dir_make(&dir);
    trace_dir_put(&dir, 10, 1);
    trace_dir_put(&dir, 30, 2);
    trace_dir_file(&dir, "log", "7@1000.020000:marker n 1\n");
    trace_dir_file(&dir, "pairs", "");
    trace_dir_manifest(&dir, late);
    assert_int_equal(read_window(&dir, 0, 100, 0, &times, &window), 0);
    assert_string_equal(times.text, "10 30");
    assert_int_equal(window.n_left_out, 1);

    trace_dir_file(&dir, "pairs", "0 1000000000000 1\n100000000 1000100000000 1\n");
    assert_int_equal(read_window(&dir, 0, 100, 0, &times, &window), 0);
    assert_string_equal(times.text, "10 20 30");
    assert_int_equal(window.n_left_out, 0);

    /* Nothing else: to be tried again. */
    trace_dir_file(&dir, "pairs", "");
    trace_dir_manifest(&dir, strstr(late, "{\"name\": \"log\""));
    assert_int_equal(read_window(&dir, 0, 100, 0, &times, &window), -EAGAIN);
    assert_int_equal(window.error.code, -EAGAIN);
    trace_dir_remove(&dir);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    struct trace_dir dir;
    struct times_sink times;
    struct live_window window;

    trace_dir_make(&dir);
    trace_dir_file(&dir, "trace.json", "{");
    assert_int_equal(read_window(&dir, 0, 100, 0, &times, &window), -EINVAL);
    assert_string_not_equal(window.error.what, "");
    trace_dir_remove(&dir);
    assert_true(read_window(&dir, 0, 100, 0, &times, &window) < 0);
}

static void a_sink_that_fails_ends_it(void **state)
{
    struct trace_dir dir;
    struct live_window window = {.to = 100 * MS};
    struct times_sink times = {.sink.ops = &times_ops, .fails = -ENOSPC};
    struct sink *sinks[] = {&times.sink};

    trace_dir_make(&dir);
    trace_dir_put(&dir, 10, 1);
    window.dir = dir.path;
    assert_int_equal(live_window_open(&window), 0);
    assert_int_equal(live_window_put(&window, sinks, 1), -ENOSPC);
    assert_int_equal(times.n_finished, 0);
    live_window_done(&window);
    trace_dir_remove(&dir);
}

static void growth_is_seen(void **state)
{
    struct live_growth *growth;
    struct trace_dir dir;

    trace_dir_make(&dir);
    assert_int_equal(live_growth_new(dir.path, &growth), 0);
    assert_true(live_growth_check(growth));
    assert_false(live_growth_check(growth));
    trace_dir_put(&dir, 10, 1);
    assert_true(live_growth_check(growth));
    assert_false(live_growth_check(growth));
    /* A source that has begun. */
    trace_dir_manifest(&dir,
                       TRACE_DIR_VMM ", {\"name\": \"log\", \"kind\": \"qemu-log\", \"layer\": "
                                     "\"vmm\", \"path\": \"log\"}");
    trace_dir_file(&dir, "log", "");
    assert_true(live_growth_check(growth));
    assert_false(live_growth_check(growth));
    /* Where nothing can be said, it may have. */
    trace_dir_remove(&dir);
    assert_true(live_growth_check(growth));
    assert_true(live_growth_check(growth));
    live_growth_free(growth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_have_each_item_once),
        cmocka_unit_test(a_window_within_a_loss_says_so),
        cmocka_unit_test(an_item_that_steps_back_is_not_cut_off),
        cmocka_unit_test(what_has_no_relation_in_time_yet_is_left_out),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
        cmocka_unit_test(a_sink_that_fails_ends_it),
        cmocka_unit_test(growth_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
