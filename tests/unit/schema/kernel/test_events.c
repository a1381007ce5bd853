/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>

#include "event/value.h"
#include "made_kernel.h"

static void fields(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:unsigned long addr;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:int n;\toffset:16;\tsize:4;\tsigned:1;\n"
        "\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:1;\n"
        "\tfield:__data_loc char[] name;\toffset:36;\tsize:4;\tsigned:1;\n"
        "\tfield:__rel_loc u32[] list;\toffset:40;\tsize:4;\tsigned:0;\n"
        "\tfield:const char * __attribute__((user)) p;\toffset:48;\tsize:8;\tsigned:0;\n"
        "\tfield:bool b;\toffset:56;\tsize:1;\tsigned:0;\n"
        "\tfield:u8 rest[];\toffset:57;\tsize:0;\tsigned:0;\n\n"
        "print fmt: \"n=%d b=%x\", REC->n, REC->b\n";
    static const struct {
        const char *name, *type_name;
        enum field_type type;
        enum field_place place;
        enum field_storage storage;
        uint32_t offset, size;
        unsigned element;
    } expected[] = {
        {"addr", "unsigned long", FIELD_UINT, PLACE_FIXED, STORE_SCALAR, 8, 8, 0},
        {"n", "int", FIELD_INT, PLACE_FIXED, STORE_SCALAR, 16, 4, 0},
        {"comm", "char[16]", FIELD_STRING, PLACE_FIXED, STORE_ARRAY, 20, 16, 0},
        {"name", "__data_loc char[]", FIELD_STRING, PLACE_DATA_LOC, STORE_ARRAY, 36, 4, 0},
        {"list", "__rel_loc u32[]", FIELD_BYTES, PLACE_REL_LOC, STORE_ARRAY, 40, 4, 4},
        {"p", "const char *", FIELD_POINTER, PLACE_FIXED, STORE_SCALAR, 48, 8, 0},
        {"b", "bool", FIELD_BOOL, PLACE_FIXED, STORE_SCALAR, 56, 1, 0},
        {"rest", "u8[]", FIELD_BYTES, PLACE_FIXED, STORE_TO_END, 57, 0, 0},
    };
    const struct event_class *class;
    struct kernel k;

    kernel_open(&k, text, (struct kernel_facts){0});
    class = kernel_events_class(k.events, 7);
    assert_string_equal(class->name, "made");
    assert_string_equal(class->group, "made");
    assert_int_equal(class->id, 7);
    assert_int_equal(class->n_fields, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_string_equal(class->fields[i].name, expected[i].name);
        assert_string_equal(class->fields[i].c_type, expected[i].type_name);
        assert_int_equal(class->fields[i].type, expected[i].type);
        assert_int_equal(class->fields[i].place, expected[i].place);
        assert_int_equal(class->fields[i].storage, expected[i].storage);
        assert_int_equal(class->fields[i].offset, expected[i].offset);
        assert_int_equal(class->fields[i].size, expected[i].size);
        assert_int_equal(class->fields[i].element, expected[i].element);
        /* A long, by its type; the other because it is printed so. */
        assert_int_equal(class->fields[i].hex, i == 0 || i == 6);
    }
    assert_ptr_equal(kernel_events_class(k.events, 7), class);

    /* One that nobody knows keeps its bytes. */
    class = kernel_events_class(k.events, 65535);
    assert_string_equal(class->name, "unknown-65535");
    assert_int_equal(class->n_fields, 1);
    assert_int_equal(class->fields[0].storage, STORE_TO_END);
    kernel_close(&k);
}

static void damaged_formats(void **state)
{
    static const char *const cases[] = {
        "",
        "name: x\n",
        "name: x\nID: 7\nformat:\n",
        "name: x\nID: 7\n" COMMON,
        "name: x\nID: 8\n" COMMON "\n",
        "name: x\nID: 7\n" COMMON "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n\n",
        "name: x\nID: 7\n" COMMON "\tfield:* int a;\toffset:8;\tsize:4;\tsigned:1;\n\n",
        "name: x\nID: 7\n" COMMON "\tfield:int a[[2];\toffset:8;\tsize:4;\tsigned:1;\n\n",
        "name: x\nID: 7\n" COMMON "\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n\n",
        "name: x\nID: 7\n" COMMON "\tfield:int a;\toffset:8;\tsize:4000000000;\tsigned:1;\n\n",
        "name: x\nID: 7\n" COMMON "\tfield:int a;\n\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct kernel k;

        kernel_open(&k, cases[i], (struct kernel_facts){0});
        assert_string_equal(kernel_events_class(k.events, 7)->name, "unknown-7");
        kernel_close(&k);
    }
}

/* What is wrong with a format is told for as long as its events are shown otherwise. */
static void hints(void **state)
{
    static const struct {
        const char *text, *hint;
    } cases[] = {
        {"name: x\nID: 7\n" COMMON "\nprint fmt: \"\"\n", NULL},
        {"name: x\nID: 7\n" COMMON "\nprint fmt: \"%d\", f(1)\n",
         "format of made:x:10: cannot parse the print format at 'f': unknown function; its "
         "events show as their "
         "fields"},
        {"name: x\nID: 7\n" COMMON "\nprint fmt: \"%d\"\n",
         "format of made:x:10: cannot parse the print format: a conversion is invalid or lacks its "
         "argument; its "
         "events show as their fields"},
        {"name: x\nID: 7\n" COMMON "\nprint fmt: \"%d\", 1 / 0\n",
         "format of made:x:10: cannot parse the print format: division by zero; its events show as "
         "their fields"},
        {"name: x\nID: 7\n" COMMON "\n",
         "format of made:x: no line \"print fmt:\"; its events show as their fields"},
        {"name: x\nID: 7\n" COMMON "x\n", "format of made:unknown-7:9: expected a line that begins "
                                          "with \"field:\"; its events show as bytes"},
        {"name: x\nID: 8\n" COMMON "\n",
         "format of made:unknown-7: the format of event 7 has ID 8; its events show as bytes"},
    };

    static const char missing[] = "the formats of events 9, 300, 301, 302, 303, 304, 305, 306 and "
                                  "1 more are missing; they show as bytes, such as unknown-9";

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *hint;
        struct kernel k;

        kernel_open(&k, cases[i].text, (struct kernel_facts){0});
        assert_null(kernel_events_hint(k.events));
        assert_non_null(kernel_events_class(k.events, 7));
        if (cases[i].hint)
            assert_string_equal(kernel_events_hint(k.events), cases[i].hint);
        else
            assert_null(kernel_events_hint(k.events));
        /* The same of those that are missing. */
        assert_non_null(kernel_events_class(k.events, 9));
        assert_non_null(
            strstr(kernel_events_hint(k.events),
                   "the format of event 9 is missing; it shows as bytes, as unknown-9"));
        for (uint16_t id = 300; id < 308; id++)
            assert_non_null(kernel_events_class(k.events, id));
        hint = kernel_events_hint(k.events);
        if (cases[i].hint) {
            assert_memory_equal(hint, cases[i].hint, strlen(cases[i].hint));
            assert_memory_equal(hint + strlen(cases[i].hint), "; ", 2);
            hint += strlen(cases[i].hint) + 2;
        }
        assert_string_equal(hint, missing);
        kernel_close(&k);
    }
}

static void common(void **state)
{
    struct kernel k;
    struct kernel_format format = {.text = "name: x\nID: 7\nformat:\n"
                                           "\tfield:u16 common_type;\toffset:2;\tsize:2;\n"
                                           "\tfield:int common_pid;\toffset:12;\tsize:4;\n"};

    kernel_open(&k, "", (struct kernel_facts){0});
    assert_int_equal(kernel_events_common(k.events)->size, 8);
    format.len = strlen(format.text);
    assert_int_equal(kernel_events_set_common(k.events, &format, NULL), 0);
    assert_int_equal(kernel_events_common(k.events)->type_offset, 2);
    assert_int_equal(kernel_events_common(k.events)->pid_offset, 12);
    assert_int_equal(kernel_events_common(k.events)->size, 16);
    format.text = "";
    format.len = 0;
    assert_int_equal(kernel_events_set_common(k.events, &format, NULL), -EBADMSG);
    kernel_close(&k);
}

static void tasks(void **state)
{
    static const char text[] = "12 a task\nx\n7 b\n12 another\n-3 n\n99999999999 big\n5\n";
    struct kernel k;

    kernel_open(&k, "", (struct kernel_facts){0});
    assert_int_equal(kernel_events_read_cmdlines(k.events, strdup(text), sizeof text - 1), 0);
    assert_string_equal(kernel_events_task(k.events, 12), "a task");
    assert_string_equal(kernel_events_task(k.events, 7), "b");
    assert_string_equal(kernel_events_task(k.events, 0), "<idle>");
    assert_null(kernel_events_task(k.events, 5));
    assert_null(kernel_events_task(k.events, -3));
    kernel_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields), cmocka_unit_test(damaged_formats), cmocka_unit_test(hints),
        cmocka_unit_test(common), cmocka_unit_test(tasks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
