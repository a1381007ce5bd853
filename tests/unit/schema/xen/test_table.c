/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "schema/xen/table.h"

static int parse(struct xen_table *table, const char *text, struct error *error)
{
    error_clear(error);
    return xen_table_parse(table, "my-events", text, strlen(text), error);
}

static void test_built_in(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};
    const struct xen_event *event;

    assert_int_equal(xen_table_built_in(&table, &error), 0);
    assert_true(table.n_events > 200);

    event = xen_table_find(&table, 0x2800a, 4, 0, XEN_CPU_UNKNOWN);
    assert_string_equal(event->name, "switch");
    assert_int_equal(event->n_fields, 4);
    assert_string_equal(event->fields[3].name, "next_unit");
    assert_int_equal(event->fields[3].offset, 12);
    assert_null(event->file);

    /* The halves and bits of a word. */
    event = xen_table_find(&table, 0x201103, 3, 0, XEN_CPU_UNKNOWN);
    assert_string_equal(event->fields[1].name, "trap");
    assert_int_equal(event->fields[1].offset, 8);
    assert_int_equal(event->fields[1].bits, 15);
    assert_int_equal(event->fields[2].shift, 15);
    assert_int_equal(event->fields[3].offset, 10);
    assert_int_equal(event->fields[3].size, 2);
    assert_true(event->fields[3].hex);

    event = xen_table_find(&table, 0x20100d, 2, 0, XEN_CPU_UNKNOWN);
    assert_string_equal(event->fields[0].names->names[29], "sched_op");
    assert_null(xen_table_find(&table, 0x80f123, 0, 0, XEN_CPU_UNKNOWN));
    xen_table_done(&table);
}

static void test_conditions(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};

    assert_int_equal(xen_table_built_in(&table, &error), 0);
    /* Where the order of a page lies depends on the version. */
    assert_int_equal(xen_table_find(&table, 0x10f010, 6, 417, XEN_CPU_UNKNOWN)->n_fields, 4);
    assert_int_equal(xen_table_find(&table, 0x10f010, 6, 417, XEN_CPU_UNKNOWN)->fields[3].offset,
                     18);
    assert_int_equal(xen_table_find(&table, 0x10f010, 6, 418, XEN_CPU_UNKNOWN)->fields[3].offset,
                     20);
    assert_int_equal(xen_table_find(&table, 0x10f010, 6, 0, XEN_CPU_UNKNOWN)->n_fields, 5);
    /* And of rtds' replenished budget, on the number of words. */
    assert_int_equal(xen_table_find(&table, 0x22804, 5, 0, XEN_CPU_UNKNOWN)->n_fields, 4);
    assert_int_equal(xen_table_find(&table, 0x22804, 6, 0, XEN_CPU_UNKNOWN)->n_fields, 5);

    /* A later line wins where its conditions hold. */
    assert_int_equal(parse(&table, "0x22804 mine [words 6, since 4.20] a:u32\n", &error), 0);
    assert_string_equal(xen_table_find(&table, 0x22804, 6, 422, XEN_CPU_UNKNOWN)->name, "mine");
    assert_string_equal(xen_table_find(&table, 0x22804, 6, 422, XEN_CPU_UNKNOWN)->file,
                        "my-events");
    assert_string_equal(xen_table_find(&table, 0x22804, 6, 419, XEN_CPU_UNKNOWN)->name,
                        "rtds_repl_budget");
    assert_string_equal(xen_table_find(&table, 0x22804, 5, 422, XEN_CPU_UNKNOWN)->name,
                        "rtds_repl_budget");
    xen_table_done(&table);
}

static void test_language(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};
    const struct xen_event *event;

    assert_int_equal(parse(&table,
                           "# comment\r\n\n"
                           "enum state # behind\n"
                           "  0x1 one\n"
                           "\t2 two\n"
                           "enum state\n"
                           " 7 seven\n"
                           "134217729 first [words 2+] -:4 a:u4=state b:s24 c:x32[] # end\n"
                           "0x0800f002 second a:u8[4] b:u64? \"%u of %u\"",
                           &error),
                     0);
    event = xen_table_find(&table, 0x8000001, 7, 0, XEN_CPU_UNKNOWN);
    assert_null(xen_table_find(&table, 0x8000001, 1, 0, XEN_CPU_UNKNOWN));
    assert_int_equal(event->n_fields, 3);
    assert_int_equal(event->line, 8);
    assert_int_equal(event->fields[0].shift, 4);
    assert_int_equal(event->fields[0].names->n, 8);
    assert_string_equal(event->fields[0].names->names[2], "two");
    assert_string_equal(event->fields[0].names->names[7], "seven");
    assert_null(event->fields[0].names->names[0]);
    assert_int_equal(event->fields[1].type, FIELD_INT);
    assert_int_equal(event->fields[1].shift, 8);
    assert_int_equal(event->fields[2].storage, STORE_TO_END);
    assert_int_equal(event->fields[2].offset, 4);

    event = xen_table_find(&table, 0x800f002, 0, 0, XEN_CPU_UNKNOWN);
    assert_int_equal(event->fields[0].size, 4);
    assert_int_equal(event->fields[0].element, 1);
    assert_true(event->fields[1].optional);
    assert_string_equal(event->format, "%u of %u");
    xen_table_done(&table);
}

static void test_names(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};
    const struct value_names *names;
    const struct xen_event *event;

    assert_int_equal(parse(&table,
                           "enum e\n"
                           " 0xc0000080 efer\n"
                           " 4096 large\n"
                           " 1 one\n"
                           " 0xc0000080 efer2\n"
                           "bits b\n"
                           " 0 low\n"
                           " 63 high\n"
                           "enum e\n"
                           " 5000 larger\n"
                           "0x8000001 x a:u64=e b:x64=b\n",
                           &error),
                     0);
    event = xen_table_find(&table, 0x8000001, 7, 0, XEN_CPU_UNKNOWN);
    names = event->fields[0].names;
    assert_false(names->bits);
    assert_int_equal(names->n, 2);
    assert_int_equal(names->n_more, 3);
    assert_string_equal(value_name(names, 1), "one");
    assert_null(value_name(names, 0));
    assert_null(value_name(names, 2));
    assert_null(value_name(names, 4095));
    assert_string_equal(value_name(names, 4096), "large");
    assert_null(value_name(names, 4097));
    assert_string_equal(value_name(names, 5000), "larger");
    assert_string_equal(value_name(names, 0xc0000080), "efer2");
    assert_null(value_name(names, UINT64_MAX));
    names = event->fields[1].names;
    assert_true(names->bits);
    assert_int_equal(names->n, 64);
    assert_string_equal(names->names[63], "high");
    xen_table_done(&table);
}

static void test_calls(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};
    const struct xen_call *call;

    assert_int_equal(parse(&table,
                           "enum cmd\n 1 one\n"
                           "call 20 0:cmd=cmd 2:count # comment\n"
                           "call 0x15\n"
                           "call 20 5:last,more\n",
                           &error),
                     0);
    for (call = table.calls; call && call->op != 20; call = call->next)
        ;
    if (!call) {
        fail_msg("no call 20");
        return;
    }
    /* The later line counts. */
    assert_null(call->arguments[0].name);
    assert_string_equal(call->arguments[5].name, "last");
    assert_string_equal(call->arguments[5].flag, "more");
    assert_null(call->arguments[5].names);
    xen_table_done(&table);
}

static void test_cpus(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};

    assert_int_equal(parse(&table,
                           "1 any\n"
                           "1 of_amd [cpu amd]\n"
                           "1 of_intel [cpu intel, since 4.18]\n",
                           &error),
                     0);
    assert_string_equal(xen_table_find(&table, 1, 0, 418, XEN_CPU_UNKNOWN)->name, "any");
    assert_string_equal(xen_table_find(&table, 1, 0, 0, XEN_CPU_AMD)->name, "of_amd");
    assert_string_equal(xen_table_find(&table, 1, 0, 418, XEN_CPU_INTEL)->name, "of_intel");
    assert_string_equal(xen_table_find(&table, 1, 0, 417, XEN_CPU_INTEL)->name, "any");
    xen_table_done(&table);

    assert_int_equal(xen_cpu_parse("amd"), XEN_CPU_AMD);
    assert_int_equal(xen_cpu_parse("HygonGenuine"), XEN_CPU_AMD);
    assert_int_equal(xen_cpu_parse("GenuineIntel"), XEN_CPU_INTEL);
    assert_int_equal(xen_cpu_parse("arm"), XEN_CPU_UNKNOWN);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
        const char *what;
    } cases[] = {
        {"# good\nhello world\n", 2, "number"},
        {"0x10000000 too_large\n", 1, "number"},
        {"0x1x name\n", 1, "blank"},
        {"1 a\xc3\xa4\n", 1, "letters"},
        {"1 name a\n", 1, "type"},
        {"1 name a:q3\n", 1, "begins with u, s or x"},
        {"1 name a:u0\n", 1, "bits"},
        {"1 name a:u65\n", 1, "bits"},
        {"1 name a:u20 b:u20\n", 1, "crosses"},
        {"1 name a:u64 b:u64 c:u64 d:u64\n", 1, "7 words"},
        {"1 name a:u32[8]\n", 1, "7 words"},
        {"1 name a:u32[4000000000]\n", 1, "7 words"},
        {"1 name a:u32[] b:u8\n", 1, "7 words"},
        {"1 name a:u3[2]\n", 1, "elements"},
        {"1 name a:u32[2\n", 1, "']'"},
        {"1 name a:u32=none\n", 1, "unknown enum"},
        {"1 name a:u32b:u32\n", 1, "blank"},
        {"1 name [since]\n", 1, "version"},
        {"1 name [since 4]\n", 1, "version"},
        {"1 name [words 8]\n", 1, "0 to 7"},
        {"1 name [words 1\n", 1, "',' or ']'"},
        {"1 name [sometimes 1]\n", 1, "condition"},
        {"1 name \"open\n", 1, "closing quote"},
        {"1 name \"a\" b\n", 1, "after the format"},
        {"  1 name\n", 1, "enum"},
        {"enum\n", 1, "name"},
        {"enum a b\n", 1, "after the name"},
        {"enum a\n 0x100000000 b\n", 2, "32 bits"},
        {"enum a\n b\n", 2, "32 bits"},
        {"bits a\n 64 b\n", 2, "0 to 63"},
        {"bits a\nenum a\n", 2, "another kind"},
        {"enum a\nbits a\n", 2, "another kind"},
        {"1 name [cpu arm]\n", 1, "amd or intel"},
        {"call\n", 1, "number of a hypercall"},
        {"call x\n", 1, "number of a hypercall"},
        {"call 1 6:a\n", 1, "0 to 5"},
        {"call 1 a\n", 1, "0 to 5"},
        {"call 1 1:\n", 1, "1 to 64 characters"},
        {"call 1 1:a=none\n", 1, "unknown enum"},
        {"call 1 1:a:b\n", 1, "blank"},
        {"call 1 1:a,\n", 1, "1 to 64 characters"},
        {"enum a\n 1 b c\n", 2, "after the value"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct xen_table table = {0};
        struct error error = {0};

        assert_int_equal(parse(&table, cases[i].text, &error), -EINVAL);
        assert_int_equal(error.line, cases[i].line);
        if (!strstr(error.what, cases[i].what))
            fail_msg("%s: %s", cases[i].text, error.what);
        xen_table_done(&table);
    }
}

static void test_versions(void **state)
{
    assert_int_equal(xen_version_parse("4.17", 4), 417);
    assert_int_equal(xen_version_parse("4.17.7", 6), 417);
    assert_int_equal(xen_version_parse("4.22-rc1", 8), 422);
    assert_int_equal(xen_version_parse("4.9", 3), 409);
    assert_int_equal(xen_version_parse("4", 1), 0);
    assert_int_equal(xen_version_parse("4.", 2), 0);
    assert_int_equal(xen_version_parse("4.100", 5), 0);
    assert_int_equal(xen_version_parse("x.1", 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_in), cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_language), cmocka_unit_test(test_names),
        cmocka_unit_test(test_calls),    cmocka_unit_test(test_cpus),
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_versions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
