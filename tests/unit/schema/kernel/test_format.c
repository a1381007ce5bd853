/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>

#include "base/text.h"
#include "made_kernel.h"
#include "schema/kernel/format.h"

/* Parses TEXT; NULL for WHAT: it is accepted. Else the error has that line and begins so. */
static void assert_parsed(const char *text, uint32_t line, const char *what, struct arena *arena,
                          struct kernel_event_format *ret)
{
    struct error error = {0};
    int r = kernel_format_parse(arena, text, strlen(text), 8, "path", ret, &error);

    if (!what) {
        assert_int_equal(r, 0);
        return;
    }
    assert_int_equal(r, -EBADMSG);
    assert_string_equal(error.path, "path");
    assert_memory_equal(error.what, what, strlen(what));
    assert_int_equal(error.line, line);
}

static void declarations(void **state)
{
    static const struct {
        const char *line;
        const char *name, *type;
        uint32_t element_size, flags;
    } cases[] = {
        {"int a;\toffset:8;\tsize:4;\tsigned:1;", "a", "int", 4, FIELD_IS_SIGNED},
        {"unsigned long long a;\toffset:8;\tsize:8;\tsigned:0;", "a", "unsigned long long", 8,
         FIELD_IS_LONG},
        {"const char * __attribute__((user)) a;\toffset:8;\tsize:8;\tsigned:0;", "a",
         "const char *", 8, FIELD_IS_POINTER},
        {"char a[16];\toffset:8;\tsize:16;\tsigned:1;", "a", "char[16]", 1,
         FIELD_IS_ARRAY | FIELD_IS_STRING | FIELD_IS_SIGNED},
        {"char *a[4];\toffset:8;\tsize:32;\tsigned:0;", "a", "char *[4]", 8,
         FIELD_IS_ARRAY | FIELD_IS_STRING | FIELD_IS_POINTER},
        {"u32 a[N + 2];\toffset:8;\tsize:32;\tsigned:0;", "a", "u32[N+2]", 16, FIELD_IS_ARRAY},
        {"u8 a[sizeof x];\toffset:8;\tsize:32;\tsigned:0;", "a", "u8[sizeof x]", 1,
         FIELD_IS_ARRAY | FIELD_IS_STRING},
        {"long a[N];\toffset:8;\tsize:32;\tsigned:0;", "a", "long[N]", 8,
         FIELD_IS_ARRAY | FIELD_IS_LONG},
        {"__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:1;", "a", "__data_loc char[]", 1,
         FIELD_IS_ARRAY | FIELD_IS_STRING | FIELD_IS_DYNAMIC | FIELD_IS_SIGNED},
        {"__rel_loc u32[] a;\toffset:8;\tsize:4;\tsigned:0;", "a", "__rel_loc u32[]", 4,
         FIELD_IS_ARRAY | FIELD_IS_DYNAMIC | FIELD_IS_RELATIVE},
        {"__data_loc struct x[] a;\toffset:8;\tsize:2;\tsigned:0;", "a", "__data_loc struct x[]", 0,
         FIELD_IS_ARRAY | FIELD_IS_STRING | FIELD_IS_DYNAMIC},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct kernel_event_format format;
        struct arena arena = {0};
        char text[1024];

        snprintf(text, sizeof text, "name: x\nID: 7\n" COMMON "\tfield:%s\n\nprint fmt: \"\"\n",
                 cases[i].line);
        assert_parsed(text, 0, NULL, &arena, &format);
        assert_int_equal(format.n_common, 4);
        assert_int_equal(format.n_fields, 5);
        assert_string_equal(format.fields[4].name, cases[i].name);
        assert_string_equal(format.fields[4].type, cases[i].type);
        assert_int_equal(format.fields[4].offset, 8);
        assert_int_equal(format.fields[4].element_size, cases[i].element_size);
        assert_int_equal(format.fields[4].flags, cases[i].flags);
        arena_done(&arena);
    }
}

static void whole(void **state)
{
    static const char text[] =
        "name: some_event\nID: 300\n" COMMON "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\n"
        "print fmt: \"%d\", REC->pid";
    struct kernel_event_format format;
    struct arena arena = {0};

    assert_parsed(text, 0, NULL, &arena, &format);
    assert_string_equal(format.name, "some_event");
    assert_int_equal(format.id, 300);
    assert_int_equal(format.print_line, 11);
    assert_int_equal(format.print_len, strlen(" \"%d\", REC->pid"));
    assert_ptr_equal(format.print, strstr(text, " \"%d\""));
    assert_ptr_equal(kernel_format_find(&format, "pid", 3, false), &format.fields[4]);
    assert_ptr_equal(kernel_format_find(&format, "common_pid", 10, true), &format.fields[3]);
    assert_null(kernel_format_find(&format, "common_pid", 10, false));
    assert_null(kernel_format_find(&format, "pi", 2, true));
    arena_done(&arena);
}

/* Of user_events: names with the ID of their format (Linux 6.9), and long ones. */
static void names_of_user_events(void **state)
{
    char text[1024];

    for (unsigned n = 100; n <= 600; n += 100) {
        struct kernel_event_format format;
        struct arena arena = {0};
        struct error error = {0};
        int len = snprintf(text, sizeof text, "name: %0*d.1a\nID: 7\n" COMMON "\nprint fmt: \"\"\n",
                           (int)n, 0);
        int r = kernel_format_parse(&arena, text, (size_t)len, 8, "f", &format, &error);

        assert_int_equal(r, n <= 500 ? 0 : -EBADMSG);
        if (r == 0)
            assert_string_equal(format.name + n, ".1a");
        arena_done(&arena);
    }
}

static void rejected(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
        const char *what;
    } cases[] = {
        {"", 1, "expected \"name:\""},
        {"name: .x\nID: 7\n" COMMON "\n", 1, "invalid name"},
        {"name: x y\nID: 7\n" COMMON "\n", 1, "invalid name"},
        {"name: x\n" COMMON "\n", 1, "no line \"ID:\""},
        {"name: x\nID: 70000\n" COMMON "\n", 1, "no line \"ID:\""},
        {"name: x\nID: 7\n", 1, "no line \"format:\""},
        {"name: x\nID: 7\n" COMMON, 9, "the text ends"},
        {"name: x\nID: 7\n" COMMON "int a\n\n", 9, "expected a line that begins"},
        {"name: x\nID: 7\n" COMMON "\tfield:int;\toffset:8;\tsize:4;\n\n", 9,
         "invalid declaration"},
        {"name: x\nID: 7\n" COMMON "\tfield:* int a;\toffset:8;\tsize:4;\n\n", 9,
         "invalid declaration"},
        {"name: x\nID: 7\n" COMMON "\tfield:int a *;\toffset:8;\tsize:4;\n\n", 9,
         "invalid declaration"},
        {"name: x\nID: 7\n" COMMON "\tfield:int a[[2];\toffset:8;\tsize:4;\n\n", 9,
         "invalid declaration"},
        {"name: x\nID: 7\n" COMMON "\tfield:int a[2][2];\toffset:8;\tsize:4;\n\n", 9,
         "invalid declaration"},
        {"name: x\nID: 7\n" COMMON "\tfield:int[] a b;\toffset:8;\tsize:4;\n\n", 9,
         "invalid declaration"},
        {"name: x\nID: 7\n" COMMON "\tfield:int a;\toffset:-8;\tsize:4;\n\n", 9, "invalid offset"},
        {"name: x\nID: 7\n" COMMON "\tfield:int a;\toffset:8;\tsize:65536;\n\n", 9,
         "invalid offset"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct kernel_event_format format;
        struct arena arena = {0};

        assert_parsed(cases[i].text, cases[i].line, cases[i].what, &arena, &format);
        arena_done(&arena);
    }
}

/* As many fields as there may be, and one more; a text that is too long. */
static void limits(void **state)
{
    static const char field[] = "\tfield:int a;\toffset:8;\tsize:4;\n";
    struct kernel_event_format format;
    struct text text = TEXT_IN_MEMORY;
    struct arena arena = {0};

    text_put_str(&text, "name: x\nID: 7\n" COMMON);
    for (unsigned i = 0; i < 508; i++)
        text_put_str(&text, field);
    text_put_literal(&text, "\n\0");
    assert_parsed(text.start, 0, NULL, &arena, &format);
    assert_int_equal(format.n_fields, 512);
    text.next -= 2;
    text_put_str(&text, field);
    text_put_literal(&text, "\n\0");
    assert_parsed(text.start, 517, "too many fields", &arena, &format);
    text.next--;
    for (unsigned i = 0; i < 5000; i++)
        text_put_str(&text, field);
    text_put_char(&text, '\0');
    assert_parsed(text.start, 1, "longer than", &arena, &format);
    text_done(&text);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations),
        cmocka_unit_test(whole),
        cmocka_unit_test(names_of_user_events),
        cmocka_unit_test(rejected),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
