/* SPDX-License-Identifier: MIT */
/* metrics/http.h: which format a client asks for. What is served: tests/golden/record_metrics.sh. */
#include "cmocka_all.h"

#include "metrics/http.h"

static void accept_chooses_the_format(void **state)
{
    static const struct {
        const char *accept;
        enum metrics_format format;
    } cases[] = {
        {NULL, METRICS_TEXT},
        {"", METRICS_TEXT},
        {",, ,", METRICS_TEXT},
        {"*/*", METRICS_TEXT},
        {"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", METRICS_TEXT},
        {"application/openmetrics-text", METRICS_OPENMETRICS},
        {"Application/OpenMetrics-Text; version=1.0.0", METRICS_OPENMETRICS},
        {"application/openmetrics-textual", METRICS_TEXT},
        /* Prometheus 2.42 */
        {"application/openmetrics-text;version=1.0.0,application/"
         "openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         METRICS_OPENMETRICS},
        {"text/plain;q=0.5, application/openmetrics-text;q=0.49", METRICS_TEXT},
        {"text/plain;q=0.499, application/openmetrics-text;q=0.5", METRICS_OPENMETRICS},
        {"application/openmetrics-text;q=0", METRICS_TEXT},
        {"application/openmetrics-text; q=0.000", METRICS_TEXT},
        {"application/openmetrics-text;q=", METRICS_OPENMETRICS},
        {"application/openmetrics-text;q=0.99999999999999999999;x", METRICS_OPENMETRICS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(metrics_format_of_accept(cases[i].accept), cases[i].format);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accept_chooses_the_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
