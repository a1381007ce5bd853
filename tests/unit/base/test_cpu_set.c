/* SPDX-License-Identifier: MIT */
/* base/cpu_set.h: the lists of CPUs that users and the kernel write. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cpu_set.h"

static void list_is(const char *text, unsigned n, const char *wanted)
{
    struct cpu_set list;
    struct error error = {0};
    char got[256];

    if (cpu_set_parse(text, n, &list, &error) < 0)
        fail_msg("%s: %s", text, error.what);
    assert_string_equal(cpu_set_text(&list, n, got, sizeof got), wanted);
}

static void list_is_wrong(const char *text, unsigned n, const char *why)
{
    struct cpu_set list;
    struct error error = {0};

    assert_int_equal(cpu_set_parse(text, n, &list, &error), -EINVAL);
    if (!strstr(error.what, why))
        fail_msg("%s: %s", text, error.what);
}

static void test_cpu_lists(void **state)
{
    list_is("all", 8, "0-7");
    list_is("0-3,5,7-", 16, "0-3,5,7-15");
    list_is("-3", 8, "0-3");
    list_is("-3,7", 8, "0-3,7");
    list_is("3-", 8, "3-7");
    list_is("0", 1, "0");
    list_is("0x5", 8, "0,2");
    list_is("0xff", 2, "0-1");
    list_is("0xffffffff", 64, "0-31");
    list_is("4095", 4096, "4095");
    list_is_wrong("", 8, "invalid list of CPUs");
    list_is_wrong("-", 8, "invalid list of CPUs");
    list_is_wrong("1,", 8, "invalid list of CPUs");
    list_is_wrong("1-2-3", 8, "invalid list of CPUs");
    list_is_wrong("one", 8, "invalid list of CPUs");
    list_is_wrong("1 2", 8, "invalid list of CPUs");
    list_is_wrong("0x", 8, "invalid list of CPUs");
    list_is_wrong("0x1g", 8, "invalid list of CPUs");
    list_is_wrong("8", 8, "no CPU 8");
    list_is_wrong("99999999999999999999", 8, "no CPU");
    list_is_wrong("9-", 8, "no CPU 9");
    list_is_wrong("5-3", 8, "runs backward");
    list_is_wrong("0x100", 8, "chooses none");
    list_is_wrong("0x1ffffffff", 64, "too large");
}

static void the_kernels_lists_are_read(void **state)
{
    static const char *const bad[] = {"x",    "1-",  "-1",  "3-1",   "1,,2",  ",",
                                      "1,2x", "1 2", "\n1", "1\n\n", "1-2-3", "0x1"};
    struct cpu_set cpus;

    assert_int_equal(cpu_set_parse_kernel("0-3,5\n", &cpus), 0);
    assert_int_equal(cpu_set_count(&cpus), 5);
    assert_int_equal(cpu_set_next(&cpus, 0), 0);
    assert_int_equal(cpu_set_next(&cpus, 3), 3);
    assert_int_equal(cpu_set_next(&cpus, 4), 5);
    assert_int_equal(cpu_set_next(&cpus, 6), CPU_SET_MAX);
    for (uint32_t cpu = 0; cpu < 8; cpu++)
        assert_int_equal(cpu_set_has(&cpus, cpu), cpu <= 3 || cpu == 5);
    assert_int_equal(cpu_set_parse_kernel("7", &cpus), 0);
    assert_true(cpu_set_count(&cpus) == 1 && cpu_set_has(&cpus, 7));
    assert_int_equal(cpu_set_parse_kernel("0,0-1,1\n", &cpus), 0);
    assert_int_equal(cpu_set_count(&cpus), 2);
    assert_int_equal(cpu_set_parse_kernel("\n", &cpus), 0);
    assert_int_equal(cpu_set_count(&cpus), 0);
    assert_int_equal(cpu_set_parse_kernel("", &cpus), 0);
    assert_int_equal(cpu_set_parse_kernel("4094-4097\n", &cpus), -ERANGE);
    assert_int_equal(cpu_set_count(&cpus), 2);
    assert_int_equal(cpu_set_next(&cpus, 1), 4094);
    assert_int_equal(cpu_set_next(&cpus, 4095), 4095);
    assert_int_equal(cpu_set_next(&cpus, 4096), CPU_SET_MAX);
    assert_int_equal(cpu_set_parse_kernel("99999999999999999999", &cpus), -ERANGE);
    assert_false(cpu_set_has(&cpus, UINT32_MAX));
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(cpu_set_parse_kernel(bad[i], &cpus), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_lists),
        cmocka_unit_test(the_kernels_lists_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
