/* SPDX-License-Identifier: MIT */
/* base/address.h: the parts of addresses. */
#include "cmocka_all.h"

#include <string.h>

#include "base/address.h"

static void hosts_and_ports_are_split(void **state)
{
    static const struct {
        const char *text, *host, *port; /* HOST NULL: refused */
    } cases[] = {
        {"host", "host", NULL},
        {"host:1", "host", "1"},
        {":80", "", "80"},
        {"::1", "::1", NULL},
        {"[::1]", "::1", NULL},
        {"[::1]:4727", "::1", "4727"},
        {"fe80::1%lo", "fe80::1%lo", NULL},
        {"[]:80", "", "80"},
        {"", NULL, NULL},
        {"host:", NULL, NULL},
        {":", NULL, NULL},
        {"[::1", NULL, NULL},
        {"[::1]80", NULL, NULL},
        {"[::1]:", NULL, NULL},
        {"[]", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct host_port parts;
        int r = host_port_parse(cases[i].text, strlen(cases[i].text), &parts);

        if (!cases[i].host) {
            assert_int_equal(r, -EINVAL);
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(parts.host_len, strlen(cases[i].host));
        assert_memory_equal(parts.host, cases[i].host, parts.host_len);
        if (cases[i].port)
            assert_string_equal(parts.port, cases[i].port);
        else
            assert_null(parts.port);
    }
}

static void a_part_of_a_text_is_split(void **state)
{
    struct host_port parts;

    assert_int_equal(host_port_parse("host:80,server", 7, &parts), 0);
    assert_int_equal(parts.port_len, 2);
    assert_memory_equal(parts.port, "80", 2);
}

static void one_or_two_numbers_are_read(void **state)
{
    static const char *const bad[] = {"",
                                      ":",
                                      "1:",
                                      ":1",
                                      "1:2:3",
                                      "1x",
                                      "-1",
                                      "4294967295",
                                      " 1",
                                      "1: 2",
                                      "99999999999999999999"};
    uint32_t numbers[2] = {7, 8};

    assert_int_equal(number_pair_parse("5", numbers), 1);
    assert_true(numbers[0] == 5 && numbers[1] == 8);
    assert_int_equal(number_pair_parse("2:4294967294", numbers), 2);
    assert_true(numbers[0] == 2 && numbers[1] == UINT32_MAX - 1);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(number_pair_parse(bad[i], numbers), -EINVAL);
    assert_int_equal(numbers[0], 2);
}

static void a_socket_has_a_path_that_fits(void **state)
{
    struct sockaddr_un address;
    char path[sizeof address.sun_path + 1];

    memset(path, 'a', sizeof path);
    path[sizeof address.sun_path] = '\0';
    assert_int_equal(unix_address(path, &address), -ENAMETOOLONG);
    assert_int_equal(unix_address("", &address), -EINVAL);
    path[sizeof address.sun_path - 1] = '\0';
    assert_int_equal(unix_address(path, &address), 0);
    assert_string_equal(address.sun_path, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_ports_are_split),
        cmocka_unit_test(a_part_of_a_text_is_split),
        cmocka_unit_test(one_or_two_numbers_are_read),
        cmocka_unit_test(a_socket_has_a_path_that_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
