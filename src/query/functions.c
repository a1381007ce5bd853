/* SPDX-License-Identifier: MIT */
/* SQL functions in addition to SQLite's:
 *
 *     percentile(x, p)   aggregate: the value that p percent of x do not exceed, from a histogram as in analyses
 *                        (analysis/histogram.h): within 1.6 %, except that the least and the largest value are exact.
 *                        Ignores NULLs. x is an integer or rounded to one; negative values count as 0
 *     histogram(x)       aggregate: a JSON list with [from, to, count] for each doubling that has values
 *     hex(x)             0x… for an integer, whose bits are taken as unsigned; otherwise as in SQLite
 *     duration(ns)       for people: 12.3ms */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/histogram.h"
#include "query/internal.h"

struct aggregate {
    struct histogram histogram;
    uint64_t least;
    bool started;
    unsigned permille;
};

static void add_to(sqlite3_context *context, struct aggregate *aggregate, sqlite3_value *value)
{
    int64_t v;

    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER: v = sqlite3_value_int64(value); break;
    case SQLITE_FLOAT: {
        double real = sqlite3_value_double(value);

        v = real >= 9.2e18 ? INT64_MAX : real > 0 ? (int64_t)(real + 0.5) : 0;
        break;
    }
    default: return;
    }
    v = MAX(v, 0);
    if (aggregate->histogram.n == 0 || (uint64_t)v < aggregate->least)
        aggregate->least = (uint64_t)v;
    if (histogram_add(&aggregate->histogram, (uint64_t)v) < 0)
        sqlite3_result_error_nomem(context);
}

static void percentile_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct aggregate *aggregate = sqlite3_aggregate_context(context, sizeof *aggregate);
    double p = sqlite3_value_double(argv[1]);

    (void)argc;
    if (!aggregate) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if ((sqlite3_value_numeric_type(argv[1]) != SQLITE_INTEGER &&
         sqlite3_value_numeric_type(argv[1]) != SQLITE_FLOAT) ||
        !(p >= 0 && p <= 100)) {
        sqlite3_result_error(context, "percentile(x, p): p is from 0 to 100", -1);
        return;
    }
    if (!aggregate->started) {
        aggregate->started = true;
        aggregate->permille = (unsigned)lround(p * 10);
    }
    add_to(context, aggregate, argv[0]);
}

static void percentile_final(sqlite3_context *context)
{
    struct aggregate *aggregate = sqlite3_aggregate_context(context, 0);
    uint64_t v;

    if (!aggregate)
        return;
    v = histogram_quantile(&aggregate->histogram, aggregate->permille);
    if (aggregate->histogram.n > 0)
        sqlite3_result_int64(context, (sqlite3_int64)MAX(v, aggregate->least));
    histogram_done(&aggregate->histogram);
}

static void histogram_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct aggregate *aggregate = sqlite3_aggregate_context(context, sizeof *aggregate);

    (void)argc;
    if (aggregate)
        add_to(context, aggregate, argv[0]);
    else
        sqlite3_result_error_nomem(context);
}

static void histogram_final(sqlite3_context *context)
{
    struct aggregate *aggregate = sqlite3_aggregate_context(context, 0);
    uint64_t counts[HISTOGRAM_DOUBLINGS] = {0};
    struct text text = TEXT_IN_MEMORY;
    const char *between = "[";

    if (!aggregate)
        return;
    histogram_add_doublings(&aggregate->histogram, counts);
    histogram_done(&aggregate->histogram);
    for (unsigned i = 0; i < HISTOGRAM_DOUBLINGS; i++) {
        uint64_t from = i ? UINT64_C(1) << (i - 1) : 0;

        if (counts[i] == 0)
            continue;
        text_put_str(&text, between);
        text_put_char(&text, '[');
        text_put_u64(&text, from);
        text_put_char(&text, ',');
        text_put_u64(&text, i ? from - 1 + from : 0);
        text_put_char(&text, ',');
        text_put_u64(&text, counts[i]);
        text_put_char(&text, ']');
        between = ",";
    }
    text_put_str(&text, between[0] == '[' ? "[]" : "]");
    if (text.error)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text64(context, text.start, text_len(&text), SQLITE_TRANSIENT, SQLITE_UTF8);
    text_done(&text);
}

static void hex(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *bytes;
    char number[24], *text;
    int n;

    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
        snprintf(number, sizeof number, "0x%llx", (unsigned long long)sqlite3_value_int64(argv[0]));
        sqlite3_result_text(context, number, -1, SQLITE_TRANSIENT);
        return;
    }
    bytes = sqlite3_value_blob(argv[0]);
    n = sqlite3_value_bytes(argv[0]);
    text = sqlite3_malloc64((sqlite3_uint64)n * 2 + 1);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (int i = 0; i < n; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    sqlite3_result_text64(context, text, (sqlite3_uint64)n * 2, sqlite3_free, SQLITE_UTF8);
}

static void duration(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct query *query = sqlite3_user_data(context);
    const struct clock clock = {.hz = query->in_ticks ? 0 : NANOSECONDS};
    char buf[40] = "-";
    double real;
    int64_t ns;

    (void)argc;
    switch (sqlite3_value_numeric_type(argv[0])) {
    case SQLITE_INTEGER: ns = sqlite3_value_int64(argv[0]); break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(argv[0]);
        ns = real > 9.2e18 ? INT64_MAX : real < -9.2e18 ? INT64_MIN : (int64_t)llround(real);
        break;
    default: return;
    }
    (void)query->options.duration(buf + (ns < 0), sizeof buf - 1, &clock,
                                  ns < 0 ? -(uint64_t)ns : (uint64_t)ns);
    sqlite3_result_text(context, buf, -1, SQLITE_TRANSIENT);
}

int functions_register(struct query *query)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    sqlite3 *db = query->db;
    int code = sqlite3_create_function(db, "percentile", 2, flags, query, NULL, percentile_step,
                                       percentile_final);

    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "histogram", 1, flags, query, NULL, histogram_step,
                                       histogram_final);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "hex", 1, flags, query, hex, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "duration", 1, flags, query, duration, NULL, NULL);
    return code;
}
