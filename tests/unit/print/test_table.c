/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <math.h>

#include "print/table.h"

enum {
    NUMBER,
    NAME,
    STATE,
    SHARE,
    LEAST,
    MOST,
    LIST,
    PAIRS,
    VALUE,
};

static const struct table_column columns[] = {
    [NUMBER] = {"COUNT", 6, "count"},
    [NAME] = {.name = "name"},
    [STATE] = {"STATE", -8, "state"},
    [SHARE] = {"SHARE%", 7, "share", .decimals = 1},
    [LEAST] = {.name = "least_ns", .object = "intervals"},
    [MOST] = {.name = "most", .object = "intervals", .key = "most_ns"},
    [LIST] = {"ITEMS", 0, "items"},
    [PAIRS] = {"", 0, "facts"},
    [VALUE] = {.name = "value", .json_only = true},
};
static const struct table_form form = {columns, ARRAY_SIZE(columns)};
static const struct table_form records = {columns, ARRAY_SIZE(columns), .records = true};

static void put_rows(struct table *table)
{
    struct json_writer *w;

    table_u64(table, NUMBER, 12);
    text_put_literal(table_cell(table, NAME), "a \"name\",\x1b[1m");
    table_str(table, STATE, "open");
    table_real(table, SHARE, 12.3456789);
    table_i64(table, MOST, -7);
    table_u64(table, LEAST, 3);
    table_list(table, LIST);
    table_list_add(table, "one");
    table_list_add(table, "");
    table_list_add(table, "t\xc3\xa4o");
    table_pairs(table, PAIRS);
    table_pairs_add(table, "key", "v1");
    table_pairs_add(table, "longer key", "v2");
    w = table_json(table, VALUE);
    json_write_object(w);
    json_write_key(w, "a");
    json_write_array(w);
    json_write_u64(w, 1);
    json_write_bool(w, true);
    json_write_end(w);
    json_write_end(w);
    table_end_row(table);

    /* What is not known, and what is not there; what is longer than its column; no order of cells. */
    table_list(table, LIST);
    table_unknown(table, SHARE);
    table_unknown(table, LEAST);
    table_str(table, NAME, NULL);
    table_str(table, STATE, "very long");
    table_end_row(table);
}

static void check_table(enum table_format format, const struct table_form *table_form,
                        void (*put)(struct table *table), const char *expected)
{
    struct text text = TEXT_IN_MEMORY;
    struct table table;

    table_begin(&table, &text, format, table_form);
    if (put)
        put(&table);
    assert_int_equal(table_end(&table), 0);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected);
    text_done(&text);
}

static void test_text(void **state)
{
    check_table(TABLE_TEXT, &form, put_rows,
                " COUNT  STATE    SHARE%  ITEMS\n"
                "    12  open       12.3  one, , t\xc3\xa4o  key: v1, longer key: v2\n"
                "     -  very long       ?\n");
}

static void test_records(void **state)
{
    check_table(TABLE_TEXT, &records, put_rows,
                "12\n"
                "  STATE       open\n"
                "  SHARE%      12.3\n"
                "  ITEMS       one, , t\xc3\xa4o\n"
                "  key         v1\n"
                "  longer key  v2\n"
                "  STATE    very long\n"
                "  SHARE%   ?\n"
                "  ITEMS    \n");
}

static void test_csv(void **state)
{
    check_table(TABLE_CSV, &form, put_rows,
                "count,name,state,share,least_ns,most,items,facts\r\n"
                "12,\"a \"\"name\"\",\\x1b[1m\",open,12.3457,3,-7,one;;t\xc3\xa4o,key: v1;longer "
                "key: v2\r\n"
                ",,very long,,,,,\r\n");
}

static void test_json(void **state)
{
    check_table(
        TABLE_JSON, &form, put_rows,
        "{\"count\":12,\"name\":\"a \\\"name\\\",\\u001b[1m\",\"state\":\"open\",\"share\":12.3457,"
        "\"intervals\":{\"least_ns\":3,\"most_ns\":-7},\"items\":[\"one\",\"\",\"t\xc3\xa4o\"],"
        "\"facts\":{\"key\":\"v1\",\"longer key\":\"v2\"},\"value\":{\"a\":[1,true]}}\n"
        "{\"state\":\"very "
        "long\",\"share\":null,\"intervals\":{\"least_ns\":null},\"items\":[]}\n");
}

static void put_two_in_object(struct table *table)
{
    json_write_object(&table->json);
    json_write_key(&table->json, "n");
    json_write_i64(&table->json, -2);
    json_write_key(&table->json, "rows");
    json_write_lines(&table->json);
    for (unsigned i = 0; i < 2; i++) {
        table_u64(table, NUMBER, i);
        table_end_row(table);
    }
    json_write_finish(&table->json);
}

static void test_json_rows_in_an_object(void **state)
{
    check_table(TABLE_JSON, &form, put_two_in_object,
                "{\"n\":-2,\"rows\":[\n{\"count\":0},\n{\"count\":1}]}\n");
}

static void test_empty(void **state)
{
    struct table_form silent = form;

    silent.silent_if_empty = true;
    check_table(TABLE_TEXT, &form, NULL, " COUNT  STATE    SHARE%  ITEMS\n");
    check_table(TABLE_TEXT, &silent, NULL, "");
    check_table(TABLE_TEXT, &records, NULL, "");
    check_table(TABLE_JSON, &form, NULL, "");
    check_table(TABLE_CSV, &silent, NULL, "count,name,state,share,least_ns,most,items,facts\r\n");
}

/* What a row is of is declared last, as CSV has it last. */
static const struct table_column ranked[] = {
    {"COUNT", 3, "count"},        {"MEAN", 7, "mean", .rank = 2},        {"ERROR", 6, "error"},
    {"MAX", 6, "max", .rank = 1}, {"NAME", -1, "name", .is_name = true},
};

static void put_ranked(struct table *table)
{
    table_u64(table, 0, 1234567);
    table_str(table, 1, "1.50us");
    table_str(table, 3, "9.00us");
    table_str(table, 4, "one");
    table_end_row(table);
    table_u64(table, 0, 1);
    table_str(table, 3, "12.345ms");
    table_str(table, 4, "a name that is longer than others \xc3\xa4");
    table_end_row(table);
}

static void check_fit(unsigned line_width, const char *expected)
{
    const struct table_form fits = {ranked, ARRAY_SIZE(ranked), .keeps_rows = true,
                                    .line_width = line_width};

    check_table(TABLE_TEXT, &fits, put_ranked, expected);
}

static void test_columns_that_fit(void **state)
{
    static const char max[] = "NAME                                   COUNT      MAX\n"
                              "one                                  1234567   9.00us\n"
                              "a name that is longer than others \xc3\xa4        1 12.345ms\n"
                              "--wide also shows MEAN, ERROR\n";
    static const char mean[] =
        "NAME                                   COUNT    MEAN      MAX\n"
        "one                                  1234567  1.50us   9.00us\n"
        "a name that is longer than others \xc3\xa4        1       - 12.345ms\n"
        "--wide also shows ERROR\n";

    /* The names and the most important column stay; a column without a value is lost first. */
    for (unsigned width = 1; width < 53; width++)
        check_fit(width, "NAME                                   COUNT\n"
                         "one                                  1234567\n"
                         "a name that is longer than others \xc3\xa4        1\n"
                         "--wide also shows MEAN, ERROR, MAX\n");
    for (unsigned width = 54; width < 62; width++)
        check_fit(width, max);
    for (unsigned width = 62; width < 69; width++)
        check_fit(width, mean);
    for (unsigned i = 0; i < 2; i++)
        check_fit(i == 0 ? 0 : 69,
                  "NAME                                   COUNT    MEAN  ERROR      MAX\n"
                  "one                                  1234567  1.50us      -   9.00us\n"
                  "a name that is longer than others \xc3\xa4        1       -      - "
                  "12.345ms\n");
}

/* Two values and their change. */
static void test_pairs(void **state)
{
    static const struct table_column pair[] = {
        {"NAME", -1, "name", .is_name = true},
        {"A", 4, "a", .rank = 1, .is_pair = true},
        {"B", 4, "b", .rank = 1},
        {"C", 1, "c", .rank = 2},
    };
    struct table_form fits = {pair, ARRAY_SIZE(pair), .keeps_rows = true};

    for (unsigned width = 11; width < 16; width++) {
        struct text text = TEXT_IN_MEMORY;
        struct table table;

        fits.line_width = width;
        table_begin(&table, &text, TABLE_TEXT, &fits);
        for (unsigned i = 0; i < 4; i++)
            table_u64(&table, i, i);
        table_end_row(&table);
        assert_int_equal(table_end(&table), 0);
        text_put_char(&text, '\0');
        assert_string_equal(text.start, width < 13 ? "NAME\n0\n--wide also shows A, B, C\n"
                                                   : "NAME  C\n0     3\n"
                                                     "--wide also shows A, B\n");
        text_done(&text);
    }
}

static void test_kept_rows_of_other_formats(void **state)
{
    const struct table_form fits = {ranked, ARRAY_SIZE(ranked), .keeps_rows = true,
                                    .line_width = 10};
    const struct table_form silent = {ranked, ARRAY_SIZE(ranked), .silent_if_empty = true,
                                      .keeps_rows = true};

    check_table(TABLE_CSV, &fits, put_ranked,
                "count,mean,error,max,name\r\n"
                "1234567,1.50us,,9.00us,one\r\n"
                "1,,,12.345ms,a name that is longer than others \xc3\xa4\r\n");
    check_table(TABLE_TEXT, &silent, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_rows_in_an_object),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_columns_that_fit),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_kept_rows_of_other_formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
