/* SPDX-License-Identifier: MIT */
/* watch/families_feed.h: what the recorder makes of lines, of a process that dies, starts again, or sends anything. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/families_feed.h"

#define ONE "3ff0000000000000" /* 1.0 */
#define EXIT_OF(reason) "add strata_exits\tweb\t0\t" reason "\t" ONE

struct setup {
    struct metrics *metrics;
    struct families_reader *reader;
};

static int setup(void **state)
{
    struct setup *s = calloc(1, sizeof *s);

    assert_int_equal(metrics_new(&s->metrics), 0);
    assert_int_equal(families_reader_new(s->metrics, &s->reader), 0);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct setup *s = *state;

    families_reader_free(s->reader);
    metrics_free(s->metrics);
    free(s);
    return 0;
}

static void expect(const struct setup *s, const char *line, bool is_there)
{
    struct text text = TEXT_IN_MEMORY;

    metrics_put(s->metrics, METRICS_TEXT, &text);
    text_put_char(&text, '\0');
    if ((strstr(text.start, line) != NULL) != is_there)
        fail_msg("%s\nis %sin\n%s", line, is_there ? "not " : "", text.start);
    text_done(&text);
}

static void send(const struct setup *s, const char *line)
{
    assert_true(families_reader_line(s->reader, line));
}

static void test_windows(void **state)
{
    struct setup *s = *state;

    families_reader_collect(s->reader, 5000000000);
    expect(s, "strata_analysis_windows_total{result=\"ok\"} 0\n", true);
    expect(s, "strata_analysis_delay_seconds", false); /* nothing was read */
    send(s, "begin");
    send(s, EXIT_OF("hlt"));
    expect(s, "strata_exits_total", false); /* the window has not ended */
    send(s, "end ok 0 1000000000 500000000");
    expect(s, "strata_exits_total{machine=\"web\",vcpu=\"0\",reason=\"hlt\"} 1\n", true);
    send(s, "begin");
    send(s, EXIT_OF("hlt"));
    send(s, "end late 1000000000 3000000000 1000000000");
    send(s, "begin");
    send(s, "end idle 3000000000 4000000000 0");
    expect(s, "strata_exits_total{machine=\"web\",vcpu=\"0\",reason=\"hlt\"} 2\n", true);
    expect(s, "strata_analysis_windows_total{result=\"ok\"} 1\n", true);
    expect(s, "strata_analysis_windows_total{result=\"late\"} 1\n", true);
    expect(s, "strata_analysis_windows_total{result=\"idle\"} 1\n", true);
    expect(s, "strata_analysis_cpu_seconds_total 1.5\n", true);
    families_reader_collect(s->reader, 5000000000);
    expect(s, "strata_analysis_delay_seconds 1\n", true);
}

/* A process that dies within a window has sent nothing of it. */
static void test_restart(void **state)
{
    struct setup *s = *state;

    send(s, "start");
    send(s, "begin");
    send(s, EXIT_OF("hlt"));
    send(s, "end ok 0 1 0");
    expect(s, "strata_analysis_restarts_total 0\n", true);
    send(s, "begin");
    send(s, EXIT_OF("io"));
    send(s, "start");
    send(s, "begin");
    send(s, EXIT_OF("hlt"));
    send(s, "end ok 1 2 0");
    expect(s, "strata_exits_total{machine=\"web\",vcpu=\"0\",reason=\"hlt\"} 2\n", true);
    expect(s, "reason=\"io\"", false);
    expect(s, "strata_analysis_restarts_total 1\n", true);
}

static void test_hostile(void **state)
{
    static const char *const lines[] = {
        "",
        "begin ",
        "add",
        "end",
        "end ok",
        "end ok 0 1",
        "end ok 0 1 0 0",
        "end fine 0 1 0",
        "end ok 0 -1 0",
        "end ok 0 1 9999999999999999",
        "end ok 0 1 x",
        "fired 0 1 text",
    };
    struct setup *s = *state;

    assert_false(families_reader_line(s->reader, EXIT_OF("hlt"))); /* of no window */
    assert_false(families_reader_line(s->reader, "end ok 0 1 0"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        send(s, "begin");
        send(s, EXIT_OF("hlt"));
        if (families_reader_line(s->reader, lines[i]))
            fail_msg("accepted: %s", lines[i]);
        (void)families_reader_line(s->reader, "end ok 0 1 0");
    }
    expect(s, "strata_exits_total", false);
    send(s, "begin");
    send(s, EXIT_OF("hlt"));
    send(s, "add strata_exits\tweb\t0\thlt\tbff0000000000000"); /* -1 */
    send(s, "end ok 0 1 0");
    expect(s, "strata_exits_total", false);
    expect(s, "strata_analysis_windows_total{result=\"ok\"} 0\n", true);
    expect(s, "strata_analysis_windows_total{result=\"failed\"}", true);
    send(s, "begin"); /* more than a window can have */
    for (unsigned i = 0; i < 400000; i++)
        (void)families_reader_line(s->reader, EXIT_OF("hlt"));
    send(s, "end ok 0 1 0");
    expect(s, "strata_exits_total", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
