/* SPDX-License-Identifier: MIT */
/* Symbols as /proc/kallsyms lists them. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/kernel/symbols.h"

static struct kernel_symbols *symbols_of(const char *text)
{
    struct kernel_symbols *symbols;

    assert_int_equal(kernel_symbols_new(strdup(text), strlen(text), &symbols), 0);
    return symbols;
}

static void assert_found(struct kernel_symbols *symbols, uint64_t address, const char *name,
                         uint64_t start)
{
    size_t len = 0;
    uint64_t got = 0;
    const char *found = kernel_symbols_find(symbols, address, &len, &got);

    assert_non_null(found);
    assert_int_equal(len, strlen(name));
    assert_memory_equal(found, name, len);
    assert_int_equal(got, start);
}

static void lines_are_read_in_every_form(void **state)
{
    struct kernel_symbols *symbols = symbols_of("ffffffff81000000 T _stext\n"
                                                "FFFFFFFF81000010 t upper\n"
                                                "no address\n");
    uint64_t start;
    size_t len;

    (void)state;
    assert_found(symbols, 0xffffffff8100000f, "_stext", 0xffffffff81000000);
    /* The third line is invalid, so that the second is the last, which reaches nowhere but its start. */
    assert_found(symbols, 0xffffffff81000010, "upper", 0xffffffff81000010);
    assert_null(kernel_symbols_find(symbols, 0xffffffff81000011, &len, &start));
    assert_null(kernel_symbols_find(symbols, 0xffffffff80ffffff, &len, &start));
    kernel_symbols_free(symbols);

    symbols = symbols_of("c0100000 T a_name_of_more_than_sixteen_bytes\t[a_module]\n"
                         "  c0100010\tt short\t[m]\n"
                         "c0100020 a absolute\n"
                         "c0100030 t $d\n"
                         "c0100040 T last");
    assert_found(symbols, 0xc0100001, "a_name_of_more_than_sixteen_bytes", 0xc0100000);
    assert_found(symbols, 0xc0100035, "short", 0xc0100010);
    assert_found(symbols, 0xc0100040, "last", 0xc0100040);
    assert_int_equal(kernel_symbols_address(symbols, "short"), 0xc0100010);
    assert_int_equal(kernel_symbols_address(symbols, "absolute"), 0);
    kernel_symbols_free(symbols);
}

/* N symbols, 16 bytes apart, the one at line I being number ORDER(I). */
static void check_order(unsigned n, unsigned factor)
{
    char *text = malloc(n * 40), *p = text;
    struct kernel_symbols *symbols;
    char name[16];

    assert_non_null(text);
    for (unsigned i = 0; i < n; i++) {
        unsigned number = i * factor % n;

        p += sprintf(p, "%016llx t s%u\n", 0xffffffff81000000 + 16ull * number, number);
    }
    assert_int_equal(kernel_symbols_new(text, (size_t)(p - text), &symbols), 0);
    for (unsigned i = 0; i + 1 < n; i++) {
        snprintf(name, sizeof name, "s%u", i);
        assert_found(symbols, 0xffffffff81000007 + 16ull * i, name, 0xffffffff81000000 + 16ull * i);
    }
    kernel_symbols_free(symbols);
}

static void symbols_are_found_whatever_their_order(void **state)
{
    (void)state;
    check_order(1000, 1);   /* sorted */
    check_order(1000, 999); /* nearly backwards: beyond what is moved one by one */
    check_order(1000, 37);
    check_order(2, 1);
}

static void the_last_name_of_an_address_comes_first(void **state)
{
    struct kernel_symbols *symbols = symbols_of("ffffffff81000000 T first\n"
                                                "ffffffff81000000 T second\n"
                                                "ffffffff81000010 T end\n");

    (void)state;
    assert_found(symbols, 0xffffffff81000000, "first", 0xffffffff81000000);
    assert_found(symbols, 0xffffffff81000008, "first", 0xffffffff81000000);
    kernel_symbols_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_in_every_form),
        cmocka_unit_test(symbols_are_found_whatever_their_order),
        cmocka_unit_test(the_last_name_of_an_address_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
