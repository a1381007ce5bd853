/* SPDX-License-Identifier: MIT */
/* metrics/metrics.h: the set, its limits, and both text formats, against text written by hand. (record_metrics asks promtool.) */
#include "cmocka_all.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metrics.h"

static const char *const source_label[] = {"source"};
static const char *const two_labels[] = {"machine", "vcpu"};
static const double bounds[] = {0.001, 0.5, 1};

static const struct metric_desc events = {.type = METRIC_COUNTER,
                                          .name = "strata_recorded_events",
                                          .help = "Events, \"all\" \\ of them\nreally",
                                          .labels = source_label,
                                          .n_labels = 1,
                                          .max_samples = 2};
static const struct metric_desc bytes = {.type = METRIC_COUNTER,
                                         .name = "strata_recorded_bytes",
                                         .unit = "bytes",
                                         .help = "Bytes",
                                         .labels = source_label,
                                         .n_labels = 1};
static const struct metric_desc running = {.type = METRIC_GAUGE,
                                           .name = "strata_running",
                                           .help = "Running",
                                           .labels = source_label,
                                           .n_labels = 1,
                                           .max_samples = 1};
static const struct metric_desc wakeup = {.type = METRIC_HISTOGRAM,
                                          .name = "strata_wakeup_seconds",
                                          .unit = "seconds",
                                          .help = "Latency of wake-ups",
                                          .labels = two_labels,
                                          .n_labels = 2,
                                          .bounds = bounds,
                                          .n_bounds = 3};
static const struct metric_desc wakeups = {
    .type = METRIC_COUNTER, .name = "strata_wakeups", .help = "Wake-ups"};

static struct metric_family *add_family(struct metrics *metrics, const struct metric_desc *desc)
{
    struct metric_family *family = NULL;

    assert_int_equal(metrics_add(metrics, desc, &family), 0);
    return family;
}

static struct metric_sample *sample_of(struct metric_family *family, const char *a, const char *b)
{
    const char *values[] = {a, b};
    struct metric_sample *sample = NULL;

    assert_int_equal(metric_sample(family, values, &sample), 0);
    return sample;
}

static void check(const struct metrics *metrics, enum metrics_format format, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;

    metrics_put(metrics, format, &text);
    assert_int_equal(text.error, 0);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected);
    text_done(&text);
}

static struct metrics *make_set(void)
{
    struct metrics *metrics = NULL;
    struct metric_family *family;
    struct metric_sample *sample;

    assert_int_equal(metrics_new(&metrics), 0);
    family = add_family(metrics, &events);
    metric_add(sample_of(family, "vmm", NULL), 4000000000);
    metric_add(sample_of(family, "a\"b\\c\nd\xff\xc3\xa9", NULL), 1);
    metric_add(sample_of(family, "third", NULL), 2);
    metric_add(sample_of(family, "fourth", NULL), 3);
    add_family(metrics, &bytes);
    family = add_family(metrics, &running);
    metric_set(sample_of(family, "vmm", NULL), 1e-7);
    metric_set(sample_of(family, "guest", NULL), 1);
    family = add_family(metrics, &wakeup);
    sample = sample_of(family, "web", "0");
    metric_observe(sample, 0.001);
    metric_observe(sample, 0.25);
    metric_observe(sample, 0.5);
    metric_observe(sample, 7);
    metric_observe(sample, (double)NAN);
    metric_add(sample_of(add_family(metrics, &wakeups), NULL, NULL), 5);
    return metrics;
}

#define OPENMETRICS_TEXT                                                                 \
    "# TYPE strata_recorded_events counter\n"                                            \
    "# HELP strata_recorded_events Events, \\\"all\\\" \\\\ of them\\nreally\n"          \
    "strata_recorded_events_total{source=\"vmm\"} 4000000000\n"                          \
    "strata_recorded_events_total{source=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} 1\n"   \
    "strata_recorded_events_total{source=\"other\"} 5\n"                                 \
    "# TYPE strata_running gauge\n"                                                      \
    "# HELP strata_running Running\n"                                                    \
    "strata_running{source=\"vmm\"} 1e-07\n"                                             \
    "# TYPE strata_wakeup_seconds histogram\n"                                           \
    "# UNIT strata_wakeup_seconds seconds\n"                                             \
    "# HELP strata_wakeup_seconds Latency of wake-ups\n"                                 \
    "strata_wakeup_seconds_bucket{machine=\"web\",vcpu=\"0\",le=\"0.001\"} 1\n"          \
    "strata_wakeup_seconds_bucket{machine=\"web\",vcpu=\"0\",le=\"0.5\"} 3\n"            \
    "strata_wakeup_seconds_bucket{machine=\"web\",vcpu=\"0\",le=\"1.0\"} 3\n"            \
    "strata_wakeup_seconds_bucket{machine=\"web\",vcpu=\"0\",le=\"+Inf\"} 4\n"           \
    "strata_wakeup_seconds_sum{machine=\"web\",vcpu=\"0\"} 7.751\n"                      \
    "strata_wakeup_seconds_count{machine=\"web\",vcpu=\"0\"} 4\n"                        \
    "# TYPE strata_wakeups counter\n"                                                    \
    "# HELP strata_wakeups Wake-ups\n"                                                   \
    "strata_wakeups_total 5\n"                                                           \
    "# TYPE strata_metrics_over_limit counter\n"                                         \
    "# HELP strata_metrics_over_limit Updates of a family beyond its limit of samples, " \
    "which went into the sample with the label value other\n"                            \
    "strata_metrics_over_limit_total{family=\"strata_recorded_events\"} 2\n"             \
    "strata_metrics_over_limit_total{family=\"strata_running\"} 1\n"                     \
    "# EOF\n"

static void openmetrics_is_as_specified(void **state)
{
    struct metrics *metrics = make_set();

    check(metrics, METRICS_OPENMETRICS, OPENMETRICS_TEXT);
    metrics_free(metrics);
}

static void text_format_has_suffixes_and_no_units(void **state)
{
    struct metrics *metrics = NULL;
    struct metric_family *family;

    assert_int_equal(metrics_new(&metrics), 0);
    check(metrics, METRICS_TEXT, "");
    check(metrics, METRICS_OPENMETRICS, "# EOF\n");
    metric_add(sample_of(add_family(metrics, &bytes), "vmm", NULL), 12);
    family = add_family(metrics, &events);
    metric_add(sample_of(family, "x", NULL), 0.125);
    check(metrics, METRICS_TEXT,
          "# TYPE strata_recorded_bytes_total counter\n"
          "# HELP strata_recorded_bytes_total Bytes\n"
          "strata_recorded_bytes_total{source=\"vmm\"} 12\n"
          "# TYPE strata_recorded_events_total counter\n"
          "# HELP strata_recorded_events_total Events, \"all\" \\\\ of them\\nreally\n"
          "strata_recorded_events_total{source=\"x\"} 0.125\n");
    metrics_free(metrics);
}

/* 1000 label values: the limit, one other, and nothing is lost of the sum. */
static void labels_are_bounded(void **state)
{
    struct metrics *metrics = NULL;
    struct metric_family *family;
    struct text text = TEXT_IN_MEMORY;
    unsigned n_lines = 0;

    assert_int_equal(metrics_new(&metrics), 0);
    family = add_family(metrics, &bytes);
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];

        snprintf(name, sizeof name, "s%u", i);
        metric_add(sample_of(family, name, NULL), 1);
    }
    metric_add(sample_of(family, "other", NULL),
               1); /* is that sample, not a second one of its name */
    metrics_put(metrics, METRICS_TEXT, &text);
    text_put_char(&text, '\0');
    for (const char *p = text.start; (p = strstr(p, "\nstrata_recorded_bytes_total{")); p++)
        n_lines++;
    assert_int_equal(n_lines, METRIC_SAMPLES_DEFAULT + 1);
    assert_non_null(strstr(text.start, "{source=\"other\"} 801\n"));
    assert_non_null(strstr(text.start, "{family=\"strata_recorded_bytes\"} 800\n"));
    text_done(&text);
    metrics_free(metrics);
}

static void counters_never_go_back(void **state)
{
    struct metrics *metrics = NULL;
    struct metric_sample *sample;
    double last = 0;

    assert_int_equal(metrics_new(&metrics), 0);
    sample = sample_of(add_family(metrics, &wakeups), NULL, NULL);
    metric_add_since(sample, 10, &last);
    metric_add_since(sample, 25, &last);
    metric_add_since(sample, 4, &last); /* began again */
    metric_add_since(sample, 4, &last);
    metric_add(sample, -3);
    metric_add(sample, (double)NAN);
    check(metrics, METRICS_TEXT,
          "# TYPE strata_wakeups_total counter\n# HELP strata_wakeups_total Wake-ups\n"
          "strata_wakeups_total 29\n");
    metrics_free(metrics);
}

static void cleared_gauges_have_no_value(void **state)
{
    struct metrics *metrics = NULL;
    struct metric_family *family;

    assert_int_equal(metrics_new(&metrics), 0);
    family = add_family(metrics, &running);
    metric_set(sample_of(family, "old", NULL), 1);
    metric_clear(family);
    check(metrics, METRICS_TEXT, "");
    metric_set(sample_of(family, "new", NULL), (double)INFINITY);
    check(metrics, METRICS_TEXT,
          "# TYPE strata_running gauge\n# HELP strata_running Running\n"
          "strata_running{source=\"new\"} +Inf\n");
    metrics_free(metrics);
}

static void wrong_families_are_refused(void **state)
{
    static const char *const le[] = {"le"};
    static const double falling[] = {2, 1};
    const struct metric_desc wrong[] = {
        {.type = METRIC_GAUGE, .name = "", .help = ""},
        {.type = METRIC_GAUGE, .name = "1a", .help = ""},
        {.type = METRIC_GAUGE, .name = "a-b", .help = ""},
        {.type = METRIC_COUNTER, .name = "a_total", .help = ""},
        {.type = METRIC_GAUGE, .name = "a", .unit = "seconds", .help = ""},
        {.type = METRIC_GAUGE, .name = "aseconds", .unit = "seconds", .help = ""},
        {.type = METRIC_GAUGE, .name = "a", .help = "", .labels = le, .n_labels = 1},
        {.type = METRIC_HISTOGRAM, .name = "a", .help = ""},
        {.type = METRIC_HISTOGRAM, .name = "a", .help = "", .bounds = falling, .n_bounds = 2},
    };
    struct metrics *metrics = NULL;
    struct metric_family *family = NULL;

    assert_int_equal(metrics_new(&metrics), 0);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(metrics_add(metrics, &wrong[i], &family), -EINVAL);
    add_family(metrics, &running);
    assert_int_equal(metrics_add(metrics, &running, &family), -EEXIST);
    assert_null(family);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openmetrics_is_as_specified),
        cmocka_unit_test(text_format_has_suffixes_and_no_units),
        cmocka_unit_test(labels_are_bounded),
        cmocka_unit_test(counters_never_go_back),
        cmocka_unit_test(cleared_gauges_have_no_value),
        cmocka_unit_test(wrong_families_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
