/* SPDX-License-Identifier: MIT */
/* live/reader.h: windows between the answers of a recorder, which this test is. */
#include "cmocka_all.h"

#include "trace_dir.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "live/reader.h"
#include "tracedir/ask.h"

#define MS INT64_C(1000000)

/* The recorder, and what its reader gave. */
struct recorder {
    struct trace_dir dir;
    struct trace_options options;
    const char *events[1];
    struct live_consumer consumer;
    struct sink sink;
    struct live_reader *reader;
    int listens;
    bool is_recorded;
    int fails;       /* grown() */
    int64_t from;    /* of the window, whose items of the look-back are in parentheses */
    char seen[1024]; /* windows "[FROM TO: TIMES]" and what else was called, in ms */
};

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct recorder *recorder = container_of(sink, struct recorder, sink);
    size_t len = strlen(recorder->seen);

    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(recorder->seen + len, sizeof recorder->seen - len,
                                items[i].time <= recorder->from ? " (%lld)" : " %lld",
                                (long long)(items[i].time / MS));
    return 0;
}

static void see(struct recorder *recorder, const char *text)
{
    strncat(recorder->seen, text, sizeof recorder->seen - strlen(recorder->seen) - 1);
}

static int64_t look_back(void *arg, const char *late)
{
    (void)arg;
    return live_has_all(late) ? 5 * MS : 15 * MS;
}

static int begin(void *arg, const struct live_window *window, struct sink **sinks, unsigned n_max)
{
    struct recorder *recorder = arg;
    char text[64];

    assert_true(n_max >= 1);
    if (window->is_last)
        snprintf(text, sizeof text, "[%lld end:", (long long)(window->from / MS));
    else
        snprintf(text, sizeof text, "[%lld %lld:", (long long)(window->from / MS),
                 (long long)(window->to / MS));
    see(recorder, text);
    recorder->from = window->from;
    sinks[0] = &recorder->sink;
    return 1;
}

static int end(void *arg, const struct live_window *window, int r)
{
    see(arg, live_window_is_late(window, window->trace->catalogue.origins[0]) ? " late]" : "]");
    return r;
}

static void idle(void *arg, int64_t from, int64_t to)
{
    char text[64];

    snprintf(text, sizeof text, "{%lld %lld}", (long long)(from / MS), (long long)(to / MS));
    see(arg, text);
}

static void note(void *arg, const char *text)
{
    see(arg, "<");
    see(arg, text);
    see(arg, ">");
}

static bool is_recorded(void *arg)
{
    return ((struct recorder *)arg)->is_recorded;
}

static void listen_at(struct recorder *recorder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s/" TRACEDIR_SOCKET, recorder->dir.path);
    recorder->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(recorder->listens >= 0);
    assert_int_equal(bind(recorder->listens, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(recorder->listens, 1), 0);
}

static void start(struct recorder *recorder, const struct live_settings *settings)
{
    static const struct sink_ops ops = {.put = put};
    struct live_settings with = *settings;

    *recorder = (struct recorder){.sink.ops = &ops, .is_recorded = true};
    trace_dir_make(&recorder->dir);
    recorder->events[0] = recorder->dir.events;
    recorder->options = (struct trace_options){.events = recorder->events, .n_events = 1};
    recorder->consumer = (struct live_consumer){.arg = recorder,
                                                .look_back = look_back,
                                                .begin = begin,
                                                .end = end,
                                                .idle = idle,
                                                .note = note};
    with.dir = recorder->dir.path;
    with.options = &recorder->options;
    with.consumer = &recorder->consumer;
    with.is_recorded = is_recorded;
    with.is_recorded_arg = recorder;
    listen_at(recorder);
    assert_int_equal(live_reader_new(&with, &recorder->reader), 0);
}

static void stop(struct recorder *recorder)
{
    char path[64];

    live_reader_free(recorder->reader);
    close(recorder->listens);
    snprintf(path, sizeof path, "%s/" TRACEDIR_SOCKET, recorder->dir.path);
    unlink(path);
    trace_dir_remove(&recorder->dir);
}

/* The reader asks, and gets ANSWER ("": none, the connection ends): it has then given EXPECTED. */
static void expect(struct recorder *recorder, const char *answer, const char *expected)
{
    char request[64];
    int fd;

    recorder->seen[0] = '\0';
    assert_false(live_reader_is_flushing(recorder->reader));
    assert_int_equal(live_reader_step(recorder->reader), 0);
    assert_true(live_reader_is_flushing(recorder->reader));
    /* Nothing has come yet. */
    assert_int_equal(live_reader_step(recorder->reader), 0);
    fd = accept(recorder->listens, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, request, sizeof request), 6);
    assert_memory_equal(request, "flush\n", 6);
    assert_int_equal(write_all(fd, answer, strlen(answer)), 0);
    close(fd);
    assert_int_equal(live_reader_step(recorder->reader), 1);
    assert_string_equal(recorder->seen, expected);
}

/* The next step of a recorder that nobody listens for has given EXPECTED. */
static void expect_unasked(struct recorder *recorder, const char *expected)
{
    close(recorder->listens);
    recorder->listens = -1;
    recorder->seen[0] = '\0';
    assert_int_equal(live_reader_step(recorder->reader), 1);
    assert_string_equal(recorder->seen, expected);
}

static void windows_follow_each_other(void **state)
{
    static const struct live_settings settings = {.from = 5 * MS, .period_ns = 1};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 3, 1);
    trace_dir_put(&recorder.dir, 10, 2);
    trace_dir_put(&recorder.dir, 20, 3);
    trace_dir_put(&recorder.dir, 30, 4);
    expect(&recorder, "ok 20000000\n", "[5 20: (3) 10 20]");
    expect(&recorder, "ok 25000000\n", "{20 25}");
    trace_dir_put(&recorder.dir, 40, 5);
    expect(&recorder, "ok 35000000\n", "[25 35: 30]");
    /* A moment that was before. */
    expect(&recorder, "ok 35000000\n", "");
    assert_false(live_reader_has_ended(recorder.reader));
    recorder.is_recorded = false;
    trace_dir_put(&recorder.dir, 50, 6);
    expect_unasked(&recorder, "[35 end: 40 50 late]");
    assert_true(live_reader_has_ended(recorder.reader));
    assert_true(live_reader_due(recorder.reader) == UINT64_MAX);
    assert_int_equal(live_reader_step(recorder.reader), 0);
    stop(&recorder);
}

static void late_and_paused_sources_may_have_more(void **state)
{
    static const struct live_settings settings = {.from = 0, .period_ns = 1};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 10, 1);
    expect(&recorder, "ok 10000000 late a vmm b\n",
           "[0 10: 10 late]"
           "<a vmm b did not send its events in time; some of them may be missing>");
    assert_non_null(live_reader_problem(recorder.reader));
    trace_dir_put(&recorder.dir, 20, 2);
    expect(&recorder, "ok 20000000 late vm\n", "[10 20: (10) 20]");
    trace_dir_put(&recorder.dir, 30, 3);
    expect(&recorder, "ok 30000000; paused vmm\n", "[20 30: (10) (20) 30 late]");
    assert_null(live_reader_problem(recorder.reader));
    trace_dir_put(&recorder.dir, 40, 4);
    expect(&recorder, "ok 40000000 late b; paused vmm\n", "[30 40: (20) (30) 40 late]");
    trace_dir_put(&recorder.dir, 50, 5);
    expect(&recorder, "ok 50000000\n", "[40 50: (40) 50]");
    stop(&recorder);
}

static void what_is_not_answered_is_read_later(void **state)
{
    static const struct live_settings settings = {.from = 0, .period_ns = 1};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 10, 1);
    expect(&recorder, "ok twenty\n", "");
    expect(&recorder, "", "");
    expect(&recorder, "error it cannot be done\n", "");
    expect(&recorder, "ok 20000000\n", "[0 20: 10]");
    stop(&recorder);
}

static void a_directory_that_cannot_be_read_is_tried_again(void **state)
{
    static const struct live_settings settings = {.from = 0, .period_ns = 1};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 10, 1);
    trace_dir_file(&recorder.dir, "trace.json", "{");
    recorder.consumer.note = NULL;
    expect(&recorder, "ok 20000000\n", "");
    assert_true(live_reader_has_failed(recorder.reader));
    assert_non_null(live_reader_problem(recorder.reader));
    /* Although nothing has grown since then. */
    expect(&recorder, "ok 20000000\n", "");
    trace_dir_manifest(&recorder.dir, TRACE_DIR_VMM);
    expect(&recorder, "ok 30000000\n", "[0 30: 10]");
    stop(&recorder);
}

static void long_windows_are_split(void **state)
{
    static const struct live_settings settings = {.from = 0, .period_ns = 10 * MS, .splits = true};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 10, 1);
    trace_dir_put(&recorder.dir, 12, 2);
    trace_dir_put(&recorder.dir, 24, 3);
    expect(&recorder, "ok 24000000\n", "[0 10: 10][10 24: (10) 12 24]");
    stop(&recorder);
}

static void what_is_long_ago_is_passed_over(void **state)
{
    static const struct live_settings settings = {
        .from = 0, .period_ns = 1, .behind_max_ns = 2000 * MS};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 10, 1);
    trace_dir_put(&recorder.dir, 3010, 2);
    expect(&recorder, "ok 5000000000\n",
           "<the recording could not be read for 5 s>[3000 5000: 3010]");
    stop(&recorder);
}

static int grown(void *arg, bool is_last)
{
    struct recorder *recorder = arg;

    see(recorder, is_last ? "last" : "grown");
    return recorder->fails;
}

static void growth_is_told_instead_of_windows(void **state)
{
    static const struct live_settings settings = {.from = 0, .period_ns = 1};
    struct recorder recorder;

    start(&recorder, &settings);
    recorder.consumer = (struct live_consumer){.arg = &recorder, .grown = grown};
    trace_dir_put(&recorder.dir, 10, 1);
    expect(&recorder, "ok 20000000\n", "grown");
    expect(&recorder, "ok 30000000\n", "");
    trace_dir_put(&recorder.dir, 30, 2);
    /* It could not be read. */
    recorder.fails = -EAGAIN;
    expect(&recorder, "ok 40000000\n", "grown");
    recorder.fails = 0;
    expect(&recorder, "ok 50000000\n", "grown");
    expect(&recorder, "ok 60000000\n", "");
    recorder.is_recorded = false;
    expect_unasked(&recorder, "last");
    assert_true(live_reader_has_ended(recorder.reader));
    stop(&recorder);
}

static void a_reader_that_is_stopped_reads_once_more(void **state)
{
    static const struct live_settings settings = {.from = 0, .period_ns = 1};
    struct recorder recorder;

    start(&recorder, &settings);
    trace_dir_put(&recorder.dir, 10, 1);
    expect(&recorder, "ok 5000000\n", "[0 5:]");
    live_reader_stop(recorder.reader);
    expect(&recorder, "ok 15000000\n", "[5 end: 10]");
    assert_true(live_reader_has_ended(recorder.reader));
    stop(&recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_follow_each_other),
        cmocka_unit_test(late_and_paused_sources_may_have_more),
        cmocka_unit_test(what_is_not_answered_is_read_later),
        cmocka_unit_test(a_directory_that_cannot_be_read_is_tried_again),
        cmocka_unit_test(long_windows_are_split),
        cmocka_unit_test(what_is_long_ago_is_passed_over),
        cmocka_unit_test(growth_is_told_instead_of_windows),
        cmocka_unit_test(a_reader_that_is_stopped_reads_once_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
