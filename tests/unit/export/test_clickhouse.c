/* SPDX-License-Identifier: MIT */
/* Blocks of ClickHouse's Native format, the time of day of a trace, and what a trace is known by. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/clickhouse/native.h"
#include "lib/cmocka_all.h"
#include "tables/calendar.h"
#include "trace/identity.h"

static void test_varint(void **state)
{
    static const struct {
        uint64_t v;
        const char *bytes;
        size_t n;
    } cases[] = {{0, "\0", 1},
                 {127, "\x7f", 1},
                 {128, "\x80\x01", 2},
                 {300, "\xac\x02", 2},
                 {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct text text = TEXT_IN_MEMORY;

        native_put_varint(&text, cases[i].v);
        assert_int_equal(text_len(&text), cases[i].n);
        assert_memory_equal(text.start, cases[i].bytes, cases[i].n);
        text_done(&text);
    }
}

/* As clickhouse-server 18.16 gives it for SELECT toInt64(-2) AS a, ['x', 'yz'] AS b, toNullable('q') AS c FORMAT Native. */
static void test_block(void **state)
{
    static const char expected[] = "\x03\x01"
                                   "\x01"
                                   "a"
                                   "\x05Int64"
                                   "\xfe\xff\xff\xff\xff\xff\xff\xff"
                                   "\x01"
                                   "b"
                                   "\x0d"
                                   "Array(String)"
                                   "\x02\0\0\0\0\0\0\0"
                                   "\x01x\x02yz"
                                   "\x01"
                                   "c"
                                   "\x10Nullable(String)"
                                   "\0"
                                   "\x01q";
    struct native_column columns[] = {{.name = "a", .type = "Int64"},
                                      {.name = "b", .type = "Array(String)"},
                                      {.name = "c", .type = "Nullable(String)"}};
    struct native_block block = {.columns = columns, .n_columns = 3, .n_rows = 1};
    struct text out = TEXT_IN_MEMORY;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        columns[i].nulls = columns[i].offsets = columns[i].values = TEXT_IN_MEMORY;
    for (unsigned round = 0; round < 2; round++) {
        native_put_u64(&columns[0].values, (uint64_t)-2);
        native_put_string(&columns[1].values, "x", 1);
        native_put_string(&columns[1].values, "yz", 2);
        native_put_u64(&columns[1].offsets, 2);
        text_put_char(&columns[2].nulls, 0);
        native_put_string(&columns[2].values, "q", 1);
        block.n_rows = 1;
        out.next = out.start;
        assert_int_equal(native_block_put(&block, &out), 0);
        assert_int_equal(text_len(&out), sizeof expected - 1);
        assert_memory_equal(out.start, expected, sizeof expected - 1);
        assert_true(native_block_size(&block) >= text_len(&out));
        native_block_clear(&block);
        assert_int_equal(block.n_rows, 0);
    }
    native_block_done(&block);
    text_done(&out);
}

static void test_calendar(void **state)
{
    struct calendar calendar = {.n_moments = 1, .moments = {{1000, 5 * DAY_NS + 7}}};
    char buf[CALENDAR_DAY_SIZE];

    (void)state;
    assert_int_equal(calendar_unix_ns(&calendar, 1000), 5 * DAY_NS + 7);
    assert_int_equal(calendar_unix_ns(&calendar, 900), 5 * DAY_NS - 93);
    assert_int_equal(calendar_day(calendar_unix_ns(&calendar, 900)), 4);
    /* Of two moments, what is between and around them is spread. */
    calendar.n_moments = 2;
    calendar.moments[1] = (struct calendar_moment){2000, 5 * DAY_NS + 2007};
    assert_int_equal(calendar_unix_ns(&calendar, 1500), 5 * DAY_NS + 1007);
    assert_int_equal(calendar_unix_ns(&calendar, 2500), 5 * DAY_NS + 3007);
    assert_int_equal(calendar_unix_ns(&calendar, INT64_MAX), INT64_MAX);
    assert_int_equal(calendar_unix_ns(&calendar, INT64_MIN), INT64_MIN);
    assert_int_equal(calendar_day(-1), 0);
    assert_int_equal(calendar_day(INT64_MAX), 106751 > UINT16_MAX ? UINT16_MAX : 106751);
    assert_string_equal(calendar_day_text(20780, buf), "2026-11-23");
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_identity(void **state)
{
    char dir[] = "/tmp/strata-identity-XXXXXX", a[64], b[64], one[TRACE_IDENTITY_SIZE],
         two[TRACE_IDENTITY_SIZE];
    const char *paths[2] = {a, b}, *pipe = "-";
    struct error error = {0};

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    write_file(a, "the same");
    write_file(b, "the same");
    assert_int_equal(trace_identity(&paths[0], 1, one, &error), 0);
    assert_int_equal(strlen(one), TRACE_IDENTITY_SIZE - 1);
    assert_int_equal(trace_identity(&paths[1], 1, two, &error), 0);
    assert_string_equal(one, two);
    assert_int_equal(trace_identity(paths, 2, two, &error), 0);
    assert_string_not_equal(one, two);
    write_file(b, "another");
    assert_int_equal(trace_identity(&paths[1], 1, two, &error), 0);
    assert_string_not_equal(one, two);
    /* A directory: its names count. */
    paths[0] = dir;
    assert_int_equal(trace_identity(paths, 1, one, &error), 0);
    snprintf(b + strlen(b), 2, "c");
    write_file(b, "another");
    b[strlen(b) - 1] = '\0';
    assert_int_equal(unlink(b), 0);
    assert_int_equal(trace_identity(paths, 1, two, &error), 0);
    assert_string_not_equal(one, two);
    assert_int_equal(trace_identity(&pipe, 1, two, &error), -ESPIPE);
    error_clear(&error);
    paths[0] = "/nonexistent";
    assert_int_equal(trace_identity(paths, 1, two, &error), -ENOENT);
    snprintf(b + strlen(b), 2, "c");
    assert_int_equal(unlink(b), 0);
    assert_int_equal(unlink(a), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varint),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_identity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
