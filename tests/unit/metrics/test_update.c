/* SPDX-License-Identifier: MIT */
/* metrics/update.h: counters and histograms that one set sends to another one; hostile lines. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "metrics/update.h"

static const char *const labels[] = {"machine", "reason"};
static const double bounds[] = {0.5, 1};
static const struct metric_desc exits = {.type = METRIC_COUNTER,
                                         .name = "strata_exits",
                                         .help = "Exits",
                                         .labels = labels,
                                         .n_labels = 2,
                                         .max_samples = 3};
static const struct metric_desc wakeups = {.type = METRIC_HISTOGRAM,
                                           .name = "strata_wakeup_seconds",
                                           .unit = "seconds",
                                           .help = "Wake-ups",
                                           .bounds = bounds,
                                           .n_bounds = 2};
static const struct metric_desc running = {
    .type = METRIC_GAUGE, .name = "strata_running", .help = "Running"};

struct set {
    struct metrics *metrics;
    struct metric_family *exits, *wakeups, *running;
};

static void set_new(struct set *set)
{
    assert_int_equal(metrics_new(&set->metrics), 0);
    assert_int_equal(metrics_add(set->metrics, &exits, &set->exits), 0);
    assert_int_equal(metrics_add(set->metrics, &wakeups, &set->wakeups), 0);
    assert_int_equal(metrics_add(set->metrics, &running, &set->running), 0);
}

static void add(struct set *set, const char *machine, const char *reason, double v)
{
    const char *values[] = {machine, reason};
    struct metric_sample *sample;

    assert_int_equal(metric_sample(set->exits, values, &sample), 0);
    metric_add(sample, v);
}

static void observe(struct set *set, double v)
{
    struct metric_sample *sample;

    assert_int_equal(metric_sample(set->wakeups, NULL, &sample), 0);
    metric_observe(sample, v);
}

static void assert_text(const struct set *set, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;

    metrics_put(set->metrics, METRICS_TEXT, &text);
    text_put_char(&text, '\0');
    if (!strstr(text.start, expected))
        fail_msg("%s\nis not in\n%s", expected, text.start);
    text_done(&text);
}

static void send(struct set *from, struct set *to)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error = {0};

    metrics_put_updates(from->metrics, &text);
    assert_int_equal(text.error, 0);
    if (text_len(&text) > 0)
        assert_int_equal(metrics_read_updates(to->metrics, text.start, text_len(&text), &error), 0);
    text_done(&text);
}

/* What is sent adds up exactly, also when the counting process begins again. */
static void test_adds_up(void **state)
{
    struct set from, to;

    set_new(&to);
    for (int i = 0; i < 2; i++) {
        set_new(&from);
        add(&from, "web\t1\n\\", "hlt \"x\"", 2);
        add(&from, "web\t1\n\\", "hlt \"x\"", 0.125);
        observe(&from, 0.25);
        observe(&from, 3);
        send(&from, &to);
        send(&from, &to); /* nothing is new */
        add(&from, "db", "io", 1);
        observe(&from, 0.75);
        send(&from, &to);
        metrics_free(from.metrics);
    }
    assert_text(&to, "strata_exits_total{machine=\"web\t1\\n\\\\\",reason=\"hlt \\\"x\\\"\"} 4.25\n"
                     "strata_exits_total{machine=\"db\",reason=\"io\"} 2\n");
    assert_text(&to, "strata_wakeup_seconds_bucket{le=\"0.5\"} 2\n"
                     "strata_wakeup_seconds_bucket{le=\"1.0\"} 4\n"
                     "strata_wakeup_seconds_bucket{le=\"+Inf\"} 6\n"
                     "strata_wakeup_seconds_sum 8\n"
                     "strata_wakeup_seconds_count 6\n");
    metrics_free(to.metrics);
}

/* What is beyond the limit, of either set, is in "other". */
static void test_limit(void **state)
{
    struct set from, to;
    char reason[8];

    set_new(&from);
    set_new(&to);
    for (int i = 0; i < 5; i++) {
        snprintf(reason, sizeof reason, "%d", i);
        add(&from, "web", reason, 1);
    }
    send(&from, &to);
    metrics_free(from.metrics);
    set_new(&from);
    add(&from, "db", "io", 7);
    send(&from, &to);
    assert_text(&to, "strata_exits_total{machine=\"other\",reason=\"other\"} 9\n");
    assert_text(&to, "strata_metrics_over_limit_total{family=\"strata_exits\"} 3\n");
    metrics_free(from.metrics);
    metrics_free(to.metrics);
}

/* A value that is too long is cut between characters. */
static void test_long_value(void **state)
{
    char name[600], expected[700];
    struct set from, to;

    set_new(&from);
    set_new(&to);
    memset(name, 'x', sizeof name);
    memcpy(name + METRIC_VALUE_MAX - 1, "\xc3\xa4", 2);
    name[sizeof name - 1] = '\0';
    add(&from, name, "io", 1);
    send(&from, &to);
    snprintf(expected, sizeof expected, "{machine=\"%.*s\",reason", (int)METRIC_VALUE_MAX - 1,
             name);
    assert_text(&to, expected);
    metrics_free(from.metrics);
    metrics_free(to.metrics);
}

/* Lines that are not updates change nothing, nor does what stands before them. */
static void test_hostile(void **state)
{
#define ONE "3ff0000000000000" /* 1.0 */
    static const char good[] = "strata_exits\tweb\tio\t" ONE "\n";
    static const char *const lines[] = {
        "",
        "\t",
        "strata_exits",
        "strata_exits\tweb\tio",
        "strata_exits\tweb\tio\t",
        "strata_exits\tweb\tio\t" ONE "\t1",
        "strata_exits\tweb\tio\tbff0000000000000", /* -1 */
        "strata_exits\tweb\tio\t7ff0000000000000", /* infinite */
        "strata_exits\tweb\tio\t7ff8000000000000", /* not a number */
        "strata_exits\tweb\tio\t7fe0000000000000", /* the sum of two is infinite */
        "strata_exits\tweb\tio\t3FF0000000000000g",
        "strata_exits\tweb\tio\t03ff0000000000000",
        "strata_exits\tweb\tio\\\t" ONE,
        "strata_exits\tweb\tio\\x\t" ONE,
        "strata_exit\tweb\tio\t" ONE,
        "strata_exits_total\tweb\tio\t" ONE,
        "strata_running\t" ONE,
        "strata_wakeup_seconds\t" ONE "\t1\t0",
        "strata_wakeup_seconds\t" ONE "\t1\t0\t0\t0",
        "strata_wakeup_seconds\t" ONE "\t1\t0\tffffffffffffffff",
        "+",
        "+strata_exits",
        "+strata_exits\tffffffffffffffff",
        "+strata_exits\t1\t1",
        "++strata_exits\t1",
    };
    char text[1024];
    struct set set;

    set_new(&set);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct error error = {0};

        snprintf(text, sizeof text, "%s%s\n", good, lines[i]);
        if (metrics_read_updates(set.metrics, text, strlen(text), &error) != -EINVAL)
            fail_msg("accepted: %s", lines[i]);
        assert_int_equal(error.line, 2);
    }
    assert_int_equal(metrics_read_updates(set.metrics, good, strlen(good) - 1, NULL), -EINVAL);
    memcpy(text, good, sizeof good);
    text[15] = '\0'; /* in a value */
    assert_int_equal(metrics_read_updates(set.metrics, text, sizeof good - 1, NULL), -EINVAL);
    assert_int_equal(metrics_read_updates(set.metrics, "", 0, NULL), 0);
    add(&set, "a", "b", 5);
    assert_text(&set, "# HELP strata_exits_total Exits\n"
                      "strata_exits_total{machine=\"a\",reason=\"b\"} 5\n");
    metrics_free(set.metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adds_up),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_long_value),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
