/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>

#include "analysis/result/rows.h"

/* However many groups there are, all beyond ROWS_MAX share one row. */
static void test_others(void **state)
{
    struct rows rows;

    assert_int_equal(rows_init(&rows, 1, 0, 0, false), 0);
    for (uint64_t i = 0; i < ROWS_MAX + 1000; i++) {
        const uint64_t number = i == 5 ? UINT64_MAX : i;
        const char *key = "key";
        struct row *row = rows_find(&rows, &number);

        assert_null(row);
        row = rows_add(&rows, &number, &key);
        assert_non_null(row);
        assert_int_equal(row->number, i < ROWS_MAX ? i : ROWS_MAX);
        assert_string_equal(row->keys[0], i < ROWS_MAX ? "key" : "(others)");
        assert_int_equal(row_count(&rows, row, 0, 1, 0), 0);
    }
    assert_int_equal(rows.n, ROWS_MAX + 1);
    assert_int_equal(rows.rows[ROWS_MAX]->n, 1000);
    rows_done(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
