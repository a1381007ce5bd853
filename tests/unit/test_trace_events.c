/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "declare/qemu_class.h"
#include "declare/trace_events.h"

struct errors {
    char text[4096];
};

static void note(void *arg, const char *file, uint32_t line, uint32_t column, const char *what)
{
    struct errors *errors = arg;
    size_t len = strlen(errors->text);

    snprintf(errors->text + len, sizeof errors->text - len, "%s:%u:%u: %s\n", file, line, column,
             what);
}

static struct declarations parse_with(const char *text, unsigned rules, const char *expected)
{
    struct declarations declarations = {.rules = rules};
    struct errors errors = {""};
    struct fault fault = {0};
    int r;

    r = declarations_parse(&declarations, "f", text, strlen(text), note, &errors, &fault);
    assert_string_equal(errors.text, expected);
    assert_int_equal(r, *expected ? -EINVAL : 0);
    assert_int_equal(fault.error, r);
    return declarations;
}

static struct declarations parse(const char *text)
{
    return parse_with(text, 0, "");
}

/* One wrong line; what is told of it. */
static void refuse(const char *line, uint32_t column, const char *what)
{
    struct declarations declarations;
    char text[1024], expected[1024];

    snprintf(text, sizeof text, "good(void) \"\"\n%s\nalso(int a) \"a=%%d\"\n", line);
    snprintf(expected, sizeof expected, "f:2:%u: %s\n", column, what);
    declarations = parse_with(text, 0, expected);
    assert_int_equal(declarations.n_events, 2);
    assert_string_equal(declarations.events[1].name, "also");
    declarations_done(&declarations);
}

static void test_event(void **state)
{
    struct declarations d =
        parse("# a comment\n"
              "\n"
              "   # another\r\n"
              "some_event(int fd, const char *path, unsigned  long   flags,void*p , char **v) "
              "\"fd %d path %s flags 0x%\" PRIx64 \" p %p v %p\"\n");
    const struct declared_event *event = &d.events[0];

    assert_int_equal(d.n_events, 1);
    assert_string_equal(event->name, "some_event");
    assert_string_equal(event->file, "f");
    assert_int_equal(event->line, 4);
    assert_int_equal(event->properties, 0);
    assert_int_equal(event->n_arguments, 5);
    assert_string_equal(event->arguments[0].type, "int");
    assert_string_equal(event->arguments[0].name, "fd");
    assert_string_equal(event->arguments[1].type, "const char *");
    assert_string_equal(event->arguments[1].name, "path");
    assert_true(event->arguments[1].c.is_string);
    assert_string_equal(event->arguments[2].type, "unsigned long");
    assert_string_equal(event->arguments[2].name, "flags");
    assert_string_equal(event->arguments[3].type, "void *");
    assert_string_equal(event->arguments[3].name, "p");
    assert_string_equal(event->arguments[4].type, "char **");
    assert_false(event->arguments[4].c.is_string);
    assert_string_equal(event->format, "fd %d path %s flags 0x%lx p %p v %p");
    assert_string_equal(event->format_source, "\"fd %d path %s flags 0x%\" PRIx64 \" p %p v %p\"");
    assert_null(event->format_trans);
    declarations_done(&d);
}

static void test_properties(void **state)
{
    struct declarations d =
        parse("disable a(void)\n"
              "vcpu b(int x) \"x=%d\"\n"
              "  disable\tvcpu tcg c(TCGv_env e, int y) \"t\", \"e %p y %d\"\n");

    assert_int_equal(d.events[0].properties, PROPERTY_DISABLE);
    assert_null(d.events[0].format);
    assert_null(d.events[0].format_source);
    assert_int_equal(d.events[1].properties, PROPERTY_VCPU);
    assert_int_equal(d.events[2].properties, PROPERTY_DISABLE | PROPERTY_VCPU | PROPERTY_TCG);
    assert_int_equal(d.n_events, 3);
    declarations_done(&d);
}

/* TCG's types are no types of C; those trees did not check. */
static void test_tcg(void **state)
{
    struct declarations d = parse_with("vcpu tcg guest_mem(TCGv addr, uint8_t info) "
                                       "\"info=%d\", \"addr=0x%016\"PRIx64\" info=%d\"\n",
                                       DECLARE_ANY_TYPE, "");
    _cleanup_(catalogue_done) struct catalogue catalogue = {0};
    struct qemu_events events;
    struct event_class *class;

    assert_int_equal(d.events[0].properties, PROPERTY_VCPU | PROPERTY_TCG);
    assert_string_equal(d.events[0].format_trans, "info=%d");
    assert_string_equal(d.events[0].format_trans_source, "\"info=%d\"");
    assert_string_equal(d.events[0].format, "addr=0x%016lx info=%d");
    assert_string_equal(d.events[0].format_source, "\"addr=0x%016\" PRIx64 \" info=%d\"");

    assert_int_equal(qemu_events_init(&d, &events), 0);
    assert_int_equal(events.n_events, 2);
    assert_int_equal(qemu_class_add(&catalogue, &events.events[0], NULL, 7, 0, &class), 0);
    assert_string_equal(class->name, "guest_mem_trans");
    assert_int_equal(class->n_fields, 2);
    assert_string_equal(class->fields[0].name, "__cpu");
    assert_string_equal(class->fields[1].name, "info");
    assert_string_equal(class->format, "cpu=%p info=%d");
    assert_int_equal(class->id, 7);
    assert_int_equal(qemu_class_add(&catalogue, &events.events[1], NULL, 8, 0, &class), 0);
    assert_string_equal(class->name, "guest_mem_exec");
    assert_int_equal(class->n_fields, 3);
    assert_true(class->fields[1].hex);
    assert_ptr_equal(qemu_events_find(&events, "guest_mem_exec", 14), &events.events[1]);
    assert_null(qemu_events_find(&events, "guest_mem", 9));
    qemu_events_done(&events);
    declarations_done(&d);
}

static void test_formats(void **state)
{
    static const struct {
        const char *source;
        const char *meaning;
        const char *normal; /* NULL: as `source` */
    } cases[] = {
        {"\"\"", ""},
        {"\"a\" \"b\"\t\"c\"", "abc", "\"a\" \"b\" \"c\""},
        {"\"a  b\"\"c\\\"  \"  \"\\\\\"PRIx64\"\" \t", "a  bc\"  \\lx",
         "\"a  b\" \"c\\\"  \" \"\\\\\" PRIx64 \"\""},
        {"\"tab\\t quote\\\" back\\\\ oct\\101 hex\\x41\"", "tab\t quote\" back\\ octA hexA"},
        {"\"one\\ntwo\"", "one\ntwo"},
        {"\"100%% %5.2d\"", "100%% %5.2d"},
        {"\"%%m\"", "%%m"},
        {"\"comma, in it\"", "comma, in it"},
        {"\"%\"PRId64\"%\"PRIu32\"%\"PRIX16\"%\"PRIo8\"%\"PRIi64", "%ld%u%X%o%li",
         "\"%\" PRId64 \"%\" PRIu32 \"%\" PRIX16 \"%\" PRIo8 \"%\" PRIi64"},
        {"\"%\"PRIxPTR\" %\"PRIuMAX\" %\"PRIdLEAST16\" %\"PRIxFAST32", "%lx %lu %d %lx",
         "\"%\" PRIxPTR \" %\" PRIuMAX \" %\" PRIdLEAST16 \" %\" PRIxFAST32"},
        {"\"%08\"HWADDR_PRIx\" \"TARGET_FMT_plx\" \"RAM_ADDR_FMT", "%08lx %016lx %lx",
         "\"%08\" HWADDR_PRIx \" \" TARGET_FMT_plx \" \" RAM_ADDR_FMT"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        struct declarations d;

        snprintf(text, sizeof text, "e(void) %s\n", cases[i].source);
        d = parse(text);
        assert_string_equal(d.events[0].format, cases[i].meaning);
        assert_string_equal(d.events[0].format_source,
                            cases[i].normal ? cases[i].normal : cases[i].source);
        declarations_done(&d);
    }
}

static void test_unknown_macro(void **state)
{
    struct declarations d = parse("e(int a) \"%\" MY_OWN_FORMAT \"x\"\n");

    assert_null(d.events[0].format);
    assert_string_equal(d.events[0].format_source, "\"%\" MY_OWN_FORMAT \"x\"");
    declarations_done(&d);
}

static void test_errors(void **state)
{
    refuse("foo", 4, "expected '(' right behind the event's name 'foo'");
    refuse("foo (int a)", 4, "expected '(' right behind the event's name 'foo'");
    refuse("fo-o(int a)", 3, "expected '(' right behind the event's name 'fo'");
    refuse("  (int a)", 3, "expected the name of an event");
    refuse("disable (int a)", 8, "expected '(' right behind the event's name 'disable'");
    refuse("enable foo(int a)", 1,
           "unknown property 'enable': there are 'disable', 'vcpu' and 'tcg'");
    refuse("foo(int a", 10, "expected a ')' behind the arguments");
    refuse("foo()", 5, "empty argument: an event without arguments has (void)");
    refuse("foo(int a, , int b)", 12, "empty argument: an event without arguments has (void)");
    refuse("foo(int a,)", 11, "empty argument: an event without arguments has (void)");
    refuse("foo(int)", 5, "expected a type and a name in the argument 'int'");
    refuse("foo(char *)", 5, "expected a type and a name in the argument 'char *'");
    refuse("foo(int a[3])", 5, "expected a type and a name in the argument 'int a[3]'");
    refuse("foo(int 3a)", 5, "expected a type and a name in the argument 'int 3a'");
    refuse("foo(int a, struct bar *b) \"%d %p\"", 12,
           "argument type 'struct bar *' is not allowed: use C's own types and those of fixed "
           "width, and 'void *' for a pointer to anything else");
    refuse("foo(hwaddr a) \"%\"PRIx64", 5,
           "argument type 'hwaddr' is not allowed: use C's own types and those of fixed width, "
           "and 'void *' for a pointer to anything else");
    refuse("foo(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k)", 75,
           "event 'foo' has more than 10 arguments");
    refuse("foo(int a) %d", 12, "expected a format in double quotes");
    refuse("foo(int a) PRIx64\"x\"", 12, "expected a format in double quotes");
    refuse("foo(int a) \"%d", 12, "a string that is not ended: a closing '\"' is missing");
    refuse("foo(int a) \"\\q %d\"", 13, "an escape that C does not have");
    refuse("foo(int a) \"\\x %d\"", 13, "an escape that C does not have");
    refuse("foo(int a) \"%d\\0\"", 15, "a NUL in the format");
    refuse("foo(int a) \"%d\" PRIx46", 17, "a macro that <inttypes.h> does not have");
    refuse("foo(int a) \"%d\" ; x", 17, "expected a string in double quotes or a macro");
    refuse("foo(int a) \"failed: %m\"", 12,
           "'%m' is not allowed in a format: pass the error as an argument");
    refuse("foo(int a) \"failed: %5m\"", 12,
           "'%m' is not allowed in a format: pass the error as an argument");
    refuse("foo(int a) \"%d\\n\"", 12, "the format must not end with a newline");
    refuse("foo(int a) \"%d\" \"\\n\"", 12, "the format must not end with a newline");
    refuse("foo(int a) \"%d\", \"%d\"", 16,
           "only an event with the property 'tcg' has two formats");
    refuse("tcg foo(int a) \"%d\"", 20,
           "an event with the property 'tcg' has two formats: at translation and at execution");
    refuse("tcg foo(int a) \"%d\",", 21, "expected a format in double quotes");
    refuse("tcg foo(int a) \"%d\", \"a\", \"b\"", 25, "expected the end of the line");
}

static void test_several_errors(void **state)
{
    struct declarations d = parse_with(
        "bad a(struct x y, foo z, int) \"%d\\n\"\n"
        "good(int a) \"%d\"\n"
        "b(\n"
        "last(int a) \"%d\"",
        0,
        "f:1:1: unknown property 'bad': there are 'disable', 'vcpu' and 'tcg'\n"
        "f:1:7: argument type 'struct x' is not allowed: use C's own types and those of fixed "
        "width, and 'void *' for a pointer to anything else\n"
        "f:1:19: argument type 'foo' is not allowed: use C's own types and those of fixed width, "
        "and 'void *' for a pointer to anything else\n"
        "f:1:26: expected a type and a name in the argument 'int'\n"
        "f:1:31: the format must not end with a newline\n"
        "f:3:3: expected a ')' behind the arguments\n"
        "f:4:17: the file does not end with a newline\n");

    assert_int_equal(d.n_events, 1);
    declarations_done(&d);
}

static void test_first_error_ends(void **state)
{
    static const char text[] = "good(void)\nbad(\ngood2(void)\n";
    struct declarations d = {0};
    struct fault fault = {0};
    char told[512];

    assert_int_equal(declarations_parse(&d, "f", text, strlen(text), NULL, NULL, &fault), -EINVAL);
    fault_print(&fault, told, sizeof told);
    assert_string_equal(told, "f:2: column 5: expected a ')' behind the arguments");
    assert_int_equal(d.n_events, 1);
    declarations_done(&d);
}

static void test_newline_rule(void **state)
{
    struct declarations d = parse_with("e(void) \"a\\nb\"\n", DECLARE_NO_NEWLINE,
                                       "f:1:9: the format must not hold a newline\n");

    declarations_done(&d);
}

static void test_missing_file(void **state)
{
    struct declarations d = {0};
    struct fault fault = {0};

    assert_int_equal(declarations_read(&d, "/nonexistent/events", NULL, NULL, &fault), -ENOENT);
    assert_string_equal(fault.path, "/nonexistent/events");
    declarations_done(&d);
}

static void test_types(void **state)
{
    static const struct {
        const char *text;
        struct c_type type;
    } cases[] = {
        {"int", {4, true}},
        {"unsigned", {4, false}},
        {"unsigned int", {4, false}},
        {"long unsigned int", {8, false}},
        {"unsigned long long", {8, false}},
        {"long long int", {8, true}},
        {"short", {2, true}},
        {"unsigned short int", {2, false}},
        {"char", {1, true}},
        {"unsigned char", {1, false}},
        {"signed char", {1, true}},
        {"const uint8_t", {1, false}},
        {"int16_t", {2, true}},
        {"ssize_t", {8, true}},
        {"size_t", {8, false}},
        {"uintptr_t", {8, false}},
        {"ptrdiff_t", {8, true}},
        {"bool", {1, false, .is_bool = true}},
        {"void *", {8, .is_pointer = true}},
        {"char *", {8, .is_pointer = true, .is_string = true}},
        {"char*", {8, .is_pointer = true, .is_string = true}},
        {"const char*", {8, .is_pointer = true, .is_string = true}},
        {" const char *", {8, .is_pointer = true, .is_string = true}},
        {"const  char *", {8, .is_pointer = true}},
        {"char const *", {8, .is_pointer = true}},
        {"unsigned char *", {8, .is_pointer = true}},
        {"const char **", {8, .is_pointer = true}},
        {"struct foo *", {8, .is_pointer = true, .unknown = true}},
        {"hwaddr", {8, .unknown = true}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct c_type type = c_type_parse(cases[i].text, strlen(cases[i].text));
        const struct c_type *expected = &cases[i].type;

        if (type.size != expected->size || type.is_signed != expected->is_signed ||
            type.is_bool != expected->is_bool || type.is_pointer != expected->is_pointer ||
            type.is_string != expected->is_string || type.unknown != expected->unknown)
            fail_msg("'%s' is taken for another type", cases[i].text);
    }
}

static void test_class(void **state)
{
    struct declarations d =
        parse("disable e(uint32_t a, int b, const char *s, void *p, bool f, char c, int8_t w) "
              "\"a 0x%x b %d s %s p %p f %d c %c w %*d\"\n"
              "e(int n) \"n=%02X\"\n");
    _cleanup_(catalogue_done) struct catalogue catalogue = {0};
    const struct origin origin = {.layer = LAYER_VMM};
    struct qemu_events events;
    struct event_class *class;
    const struct field *f;

    assert_int_equal(qemu_events_init(&d, &events), 0);
    assert_int_equal(qemu_class_add(&catalogue, &events.events[0], &origin, 3, 0, &class), 0);
    assert_ptr_equal(qemu_events_find(&events, "e", 1), &events.events[1]);
    qemu_events_done(&events);
    declarations_done(&d);

    assert_string_equal(class->name, "e");
    assert_string_equal(class->declared_in, "f");
    assert_int_equal(class->declared_line, 1);
    assert_true(class->disabled);
    assert_ptr_equal(class->origin, &origin);
    assert_int_equal(class->id, 3);
    assert_int_equal(class->n_fields, 7);
    f = class->fields;
    assert_true(f[0].type == FIELD_UINT && f[0].place == PLACE_FIXED && f[0].offset == 0);
    assert_true(f[0].size == 8 && f[0].c_size == 4 && f[0].hex);
    assert_true(f[1].type == FIELD_INT && f[1].offset == 8 && f[1].c_size == 4 && !f[1].hex);
    assert_true(f[2].type == FIELD_STRING && f[2].storage == STORE_COUNTED && f[2].offset == 16);
    assert_true(f[2].place == PLACE_FIXED);
    assert_true(f[3].type == FIELD_POINTER && f[3].place == PLACE_BEHIND && f[3].hex);
    assert_true(f[4].type == FIELD_BOOL && f[4].c_size == 1 && f[4].size == 8);
    assert_true(f[5].type == FIELD_INT && f[5].c_size == 1);
    assert_string_equal(f[6].name, "w");
    assert_string_equal(f[6].c_type, "int8_t");
}

/* Version 0 had six words and nothing else. */
static void test_class_of_words(void **state)
{
    struct declarations d = parse("e(const char *s, int n) \"%s %d\"\n");
    _cleanup_(catalogue_done) struct catalogue catalogue = {0};
    struct qemu_events events;
    struct event_class *class;

    assert_int_equal(qemu_events_init(&d, &events), 0);
    assert_int_equal(
        qemu_class_add(&catalogue, &events.events[0], NULL, 0, QEMU_WORDS | QEMU_SWAPPED, &class),
        0);
    assert_int_equal(class->fields[0].type, FIELD_POINTER);
    assert_int_equal(class->fields[1].offset, 8);
    assert_true(class->fields[1].swap);
    qemu_events_done(&events);
    declarations_done(&d);
}

/* All of QEMU 7.2's, where Debian's package has put them. */
static void test_installed(void **state)
{
    static const char path[] = "/usr/share/qemu/trace-events-all";
    _cleanup_(catalogue_done) struct catalogue catalogue = {0};
    struct declarations d = {0};
    struct qemu_events events;
    unsigned uncompiled = 0;

    if (access(path, R_OK) < 0)
        skip();
    assert_int_equal(declarations_read(&d, path, NULL, NULL, NULL), 0);
    assert_true(d.n_events >= 4600);
    assert_int_equal(qemu_events_init(&d, &events), 0);
    for (unsigned i = 0; i < events.n_events; i++) {
        struct event_class *class;
        assert_int_equal(qemu_class_add(&catalogue, &events.events[i], NULL, i, 0, &class), 0);
        if (class->format && !class->program) {
            print_message("%s: \"%s\"\n", class->name, class->format);
            uncompiled++;
        }
    }
    assert_int_equal(uncompiled, 0);
    qemu_events_done(&events);
    declarations_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_tcg),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_unknown_macro),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_several_errors),
        cmocka_unit_test(test_first_error_ends),
        cmocka_unit_test(test_newline_rule),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_class),
        cmocka_unit_test(test_class_of_words),
        cmocka_unit_test(test_installed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
