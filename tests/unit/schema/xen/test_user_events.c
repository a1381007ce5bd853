/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "schema/xen/user_events.h"

static const struct xen_event *parse_one(struct xen_table *table, const char *text, uint32_t id)
{
    struct error error = {0};

    assert_int_equal(xen_user_events_parse(table, "f", text, strlen(text), &error), 0);
    return xen_table_find(table, id, 7, 0, XEN_CPU_UNKNOWN);
}

static void test_rules(void **state)
{
    static const struct {
        const char *rule;
        const char *name;
        const char *format;
        const char *fields; /* NAME@OFFSET+SIZE[x] … */
    } rules[] = {
        /* As Xen's own files have them. */
        {"CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  my_guest  [ phase = %(1)d, at = 0x%(3)08x%(2)08x ]",
         "my_guest", "phase = %u, at = 0x%016lx", "phase@0+4 at@4+8x"},
        {"CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  nothing", "nothing", NULL, ""},
        {"CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  two words  [ a:%(1)d ]", "two_words", "a:%u",
         "a@0+4"},
        /* As users write them. */
        {"mine a=%(1)d b=%(2)x", "mine", "a=%u b=%x", "a@0+4 b@4+4x"},
        {"mine %(1)d%% %(2)5d|%(3)-5d", "mine", "%u%% %5u|%-5u", "word1@0+4 word2@4+4 word3@8+4"},
        {"mine [ x = %(1)d, x = %(1)d ]", "mine", "x = %u, x = %u", "x@0+4 x_2@0+4"},
        {"%(tsc)d: mine", "mine", NULL, ""},
        /* The halves the other way round are two numbers. */
        {"mine [ v = %(1)08x%(2)08x ]", "mine", "v = %08x%08x", "v@0+4x word2@4+4x"},
        /* What cannot be put in C's way is shown as fields, as far as they were understood. */
        {"mine [ a = %(1)d, at %(event)x ]", "mine", NULL, "a@0+4"},
        {"mine [ a = %(1)d, 100% ]", "mine", NULL, "a@0+4"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        struct xen_table table = {0};
        struct xen_event const *event;
        char fields[256] = "";
        char text[512];

        snprintf(text, sizeof text, "# %%(no rule)\n0x800f001 %s\n0 %%(event)x\n", rules[i].rule);
        event = parse_one(&table, text, 0x800f001);
        /* Without %( it is a table, in which this is an event as well. */
        assert_non_null(event);
        assert_string_equal(event->name, rules[i].name);
        assert_string_equal(event->file, "f");
        assert_int_equal(event->line, 2);
        if (rules[i].format)
            assert_string_equal(event->format, rules[i].format);
        else
            assert_null(event->format);
        for (unsigned j = 0; j < event->n_fields; j++)
            snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "%s%s@%u+%u%s",
                     j ? " " : "", event->fields[j].name, event->fields[j].offset,
                     event->fields[j].size, event->fields[j].hex ? "x" : "");
        assert_string_equal(fields, rules[i].fields);
        assert_null(map_get(&table.events, 0));
        xen_table_done(&table);
    }
}

static void test_no_name(void **state)
{
    struct xen_table table = {0};

    assert_null(parse_one(&table, "0x800f001 %(1)d\n0x800f002 [ %(1)d ]\n0xffffffffff a%(1)d\n",
                          0x800f001));
    assert_int_equal(table.n_events, 0);
    xen_table_done(&table);
}

/* A file of the user's own events goes before the table, Xen's own file does not. */
static void test_what_is_known(void **state)
{
    static const char own[] = "0x00082026 %(cpu)d alice\n0x00082026 %(cpu)d bob\n";
    static const char whole[] = "0x0001f003 %(cpu)d cpu_change\n0x00082026 %(cpu)d alice\n"
                                "0x0800f001 %(cpu)d mine\n";
    struct xen_table table = {0};
    struct error error = {0};

    assert_int_equal(xen_table_built_in(&table, &error), 0);
    assert_string_equal(parse_one(&table, whole, 0x82026)->name, "xcr_read");
    assert_string_equal(xen_table_find(&table, 0x800f001, 0, 0, XEN_CPU_UNKNOWN)->name, "mine");
    assert_string_equal(parse_one(&table, own, 0x82026)->name, "bob");
    xen_table_done(&table);
}

static void test_languages(void **state)
{
    struct xen_table table = {0};
    struct error error = {0};

    assert_string_equal(parse_one(&table, "0x800f001 mine a:u32 b:x64 \"%u\"\n", 0x800f001)->name,
                        "mine");
    assert_int_equal(xen_user_events_parse(&table, "f", "\n0x zzz %(1)d\n", 14, &error), -EINVAL);
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.what, "Bad format file"));
    error_clear(&error);
    assert_int_equal(xen_user_events_parse(&table, "f", "\n0x1 a:u32\n", 11, &error), -EINVAL);
    assert_int_equal(error.line, 2);
    error_clear(&error);
    assert_int_equal(xen_user_events_read(&table, "/nonexistent", &error), -ENOENT);
    xen_table_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_no_name),
        cmocka_unit_test(test_what_is_known),
        cmocka_unit_test(test_languages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
