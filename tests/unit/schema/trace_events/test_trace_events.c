/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/trace_events/qemu_class.h"
#include "schema/trace_events/trace_events.h"

struct errors {
    char text[4096];
};

/* "FILE:LINE:COLUMN+LENGTH: WHAT; INSTEAD", with "warning: " in front of what is none. */
static void note(void *arg, const struct declaration_problem *problem)
{
    struct errors *errors = arg;
    size_t len = strlen(errors->text);

    assert_true(problem->column - 1 + problem->length <= problem->text_len);
    snprintf(errors->text + len, sizeof errors->text - len, "%s:%u:%u+%u: %s%s%s%s\n",
             problem->file, problem->line, problem->column, problem->length,
             problem->warning ? "warning: " : "", problem->what, problem->instead ? "; " : "",
             problem->instead ? problem->instead : "");
}

static struct declarations parse_with(const char *text, unsigned rules, const char *expected)
{
    struct declarations declarations = {.rules = rules};
    struct errors errors = {""};
    struct error error = {0};
    int r;

    r = declarations_parse(&declarations, "f", text, strlen(text), note, &errors, &error);
    assert_string_equal(errors.text, expected);
    assert_int_equal(r, error.code);
    return declarations;
}

static struct declarations parse(const char *text)
{
    return parse_with(text, 0, "");
}

/* What is told of one line, good or bad, among good ones. */
static void told(const char *line, unsigned rules, uint32_t column, uint32_t length,
                 const char *what)
{
    struct declarations declarations;
    char text[1024], expected[1024] = "";

    snprintf(text, sizeof text, "good(void) \"\"\n%s\nalso(int a) \"a=%%d\"\n", line);
    if (what)
        snprintf(expected, sizeof expected, "f:2:%u+%u: %s\n", column, length, what);
    declarations = parse_with(text, rules, expected);
    assert_int_equal(declarations.n_events, what && strncmp(what, "warning: ", 9) != 0 ? 2 : 3);
    assert_string_equal(declarations.events[declarations.n_events - 1].name, "also");
    declarations_done(&declarations);
}

#define OLD_RULES (DECLARE_GENERATE | DECLARE_FORMATS_FIT)

static void refuse(const char *line, uint32_t column, uint32_t length, const char *what)
{
    told(line, DECLARATION_RULES_NEWEST, column, length, what);
}

static void refuse_old(const char *line, uint32_t column, uint32_t length, const char *what)
{
    told(line, OLD_RULES, column, length, what);
}

static void warn(const char *line, uint32_t column, uint32_t length, const char *what)
{
    char warning[512];

    snprintf(warning, sizeof warning, "warning: %s", what);
    told(line, DECLARATION_RULES_NEWEST, column, length, warning);
}

static void accept_old(const char *line)
{
    told(line, OLD_RULES, 0, 0, NULL);
}

static void accept(const char *line)
{
    told(line, DECLARATION_RULES_NEWEST, 0, 0, NULL);
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
    struct declarations d = parse("disable a(void)\n"
                                  "vcpu b(int x) \"x=%d\"\n"
                                  "  disable\tvcpu tcg c(TCGv e, int y) \"t\", \"e %p y %d\"\n");

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

static void test_head_told(void **state)
{
    refuse(
        "foo", 4, 0,
        "expected '(' directly after the event's name 'foo'; without arguments it is 'foo(void)'");
    refuse("foo (int a)", 4, 1, "a blank between the event's name and the '('; write 'foo('");
    refuse("fo-o(int a)", 1, 4, "invalid name 'fo-o'; a name is made of A-Z, a-z, 0-9 and '_'");
    refuse("f.o(void)", 1, 3, "invalid name 'f.o'; a name is made of A-Z, a-z, 0-9 and '_'");
    refuse("été(void)", 1, 5, "invalid name 'été'; a name is made of A-Z, a-z, 0-9 and '_'");
    refuse("  (int a)", 3, 0, "expected the name of an event");
    refuse(" foo(void)", 1, 1,
           "one blank in front of the name, which QEMU's tracetool rejects; begin the line "
           "with 'foo('");
    refuse("9foo(void)", 1, 4,
           "invalid name '9foo': it begins with a digit; begin it with a letter");
    refuse("// comment", 1, 2, "a comment begins with '#'; write '#'");
    refuse("disable (int a)", 8, 1,
           "a blank between the event's name and the '('; write 'disable('");
    refuse("disable  foo[int a]", 13, 0, "expected '(' directly after the event's name 'foo'");
    refuse("enable foo(int a)", 1, 6,
           "unknown property 'enable'; leave it out: only what is off is marked, by 'disable'");
    refuse("disabled foo(int a)", 1, 8, "unknown property 'disabled'; write 'disable'");
    refuse("DISABLE foo(int a)", 1, 7, "unknown property 'DISABLE'; write 'disable'");
    refuse("dsiable foo(int a)", 1, 7, "unknown property 'dsiable'; write 'disable'");
    refuse("void foo(int a)", 1, 4, "unknown property 'void'; remove it: an event returns nothing");
    refuse("vcpu foo(int a)", 1, 4,
           "the property 'vcpu' is one of QEMU 10.0 and older; leave it out and pass the vCPU as "
           "an argument");
    refuse("tcg foo(int a)", 1, 3, "the property 'tcg' is one of QEMU before 7.2; leave it out");
    refuse("xyzzy foo(int a)", 1, 5, "unknown property 'xyzzy'; the only property is 'disable'");
    refuse_old("dsable foo(int a)", 1, 6, "unknown property 'dsable'; write 'disable'");
}

static void test_arguments_told(void **state)
{
    refuse("foo(int a", 10, 0, "a ')' is missing; write ')' after the arguments");
    refuse("foo(int a \"a=%d\"", 10, 0, "a ')' is missing; write ')' after the arguments");
    refuse("foo(int a \"a=(%d)\"", 10, 0, "a ')' is missing; write ')' after the arguments");
    refuse("foo()", 5, 0, "an argument is missing; without arguments it is (void)");
    refuse("foo(int a, , int b)", 12, 0, "an argument is missing; leave the ',' out");
    refuse("foo(int a,)", 11, 0, "an argument is missing; leave the ',' out");
    refuse("foo(,int a)", 5, 0, "an argument is missing; leave the ',' out");
    refuse("foo(int)", 8, 0, "the argument 'int' has no name; write 'int NAME'");
    refuse("foo(a)", 5, 1,
           "expected a type and a name in the argument 'a'; write 'int a', or which type it has");
    refuse("foo(unsigned int)", 17, 0,
           "the argument 'unsigned int' has no name; write 'unsigned int NAME'");
    refuse("foo(char *)", 11, 0, "the argument 'char *' has no name; write 'char *NAME'");
    refuse("foo(hwaddr)", 5, 6,
           "expected a type and a name in the argument 'hwaddr'; write 'uint64_t'");
    refuse("foo(const char)", 15, 0,
           "the argument 'const char' has no name; write 'const char NAME'");
    refuse("foo(int a[3])", 10, 3,
           "an array cannot be an argument; pass a pointer, 'void *', to trace its address, or "
           "pass the elements one by one");
    refuse("foo(int 3a)", 9, 2, "invalid name '3a': it begins with a digit");
    refuse("foo(int a=3)", 10, 2, "a value for an argument; remove it: arguments have no defaults");
    refuse("foo(int a; int b)", 10, 1, "a ';' between arguments; write ','");
    refuse("foo(int &a)", 9, 1,
           "'&' has no place in an argument; C has no references: pass a pointer");
    refuse("foo(int a, ...)", 12, 3,
           "'...' cannot be traced; an event has arguments that are fixed: name each");
    refuse("foo(void (*cb)(int), int b) \"%p %d\"", 10, 1,
           "a '(' among the arguments; pass a pointer to a function as 'void *'");
    refuse("foo(int é)", 9, 2, "'é' has no place in an argument");
    refuse("foo(int a int b)", 10, 0, "a ',' is missing between arguments; write ','");
    refuse("foo(char *a char *b)", 12, 0, "a ',' is missing between arguments; write ','");
    refuse("foo(int a b)", 10, 0, "a ',' is missing between arguments; write ','");
    refuse("foo(int default)", 9, 7, "'default' is a word of C's own; choose another name");
    refuse("foo(int true)", 9, 4, "'true' is a word of C's own; choose another name");
    refuse("foo(int a, char *a)", 18, 1, "a second argument of the name 'a'");
    refuse("foo(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k)", 75,
           5,
           "the event 'foo' has more than 10 arguments; pass what belongs together as one, or "
           "declare two events");
    refuse_old("vcpu foo(int __cpu) \"%d\"", 14, 5,
               "an event with the property 'vcpu' has an argument of the name '__cpu' already");
}

static void test_types_told(void **state)
{
    refuse("foo(u32 a)", 5, 3, "the argument type 'u32' is not allowed; write 'uint32_t'");
    refuse("foo(const u8 *a)", 5, 10,
           "the argument type 'const u8 *' is not allowed; write 'const uint8_t *'");
    refuse("foo(uint a)", 5, 4, "the argument type 'uint' is not allowed; write 'unsigned int'");
    refuse("foo(struct bar *b)", 5, 12,
           "the argument type 'struct bar *' is not allowed; write 'void *'");
    refuse("foo(const struct bar **b)", 5, 19,
           "the argument type 'const struct bar **' is not allowed; write 'const void **'");
    refuse("foo(struct bar b)", 5, 10,
           "the argument type 'struct bar' is not allowed; pass a pointer to it as 'void *', or "
           "its members one by one");
    refuse("foo(enum bar b)", 5, 8, "the argument type 'enum bar' is not allowed; write 'int'");
    refuse("foo(FooState *s)", 5, 10,
           "the argument type 'FooState *' is not allowed; write 'void *'");
    refuse("foo(FooState s)", 5, 8,
           "the argument type 'FooState' is not allowed; use C's own types, types of fixed width, "
           "or 'void *' for other pointers");
    refuse("foo(hwaddr a)", 5, 6, "the argument type 'hwaddr' is not allowed; write 'uint64_t'");
    refuse("foo(unsigned __int64 a)", 5, 16,
           "the argument type 'unsigned __int64' is not allowed; write 'uint64_t'");
    refuse("foo(long double a)", 5, 11,
           "the argument type 'long double' is not allowed; events have no floating point: scale "
           "it to an integer, as 'int64_t'");
    refuse("foo(float a)", 5, 5,
           "the argument type 'float' is not allowed; events have no floating point: scale it to "
           "an integer, as 'int64_t'");
    refuse("foo(double *a)", 5, 8, "the argument type 'double *' is not allowed; write 'void *'");
    refuse("foo(unsinged int a)", 5, 12,
           "the argument type 'unsinged int' is not allowed; write 'unsigned int'");
    refuse("foo(uint23_t a)", 5, 8,
           "the argument type 'uint23_t' is not allowed; write 'uint32_t'");
    refuse("foo(gpointer a)", 5, 8, "the argument type 'gpointer' is not allowed; write 'void *'");
    refuse("foo(string a)", 5, 6,
           "the argument type 'string' is not allowed; write 'const char *'");
    refuse("foo(volatile int a)", 5, 12,
           "the argument type 'volatile int' is not allowed; write 'int'");
    refuse("foo(char *restrict a)", 5, 14,
           "the argument type 'char *restrict' is not allowed; write 'char *'");
    refuse("foo(char * const a)", 12, 5,
           "'const' after the last '*'; remove it: the name follows the '*'");
    refuse("foo(unsigned size_t a)", 5, 15, "'unsigned size_t' is not a C type; write 'size_t'");
    refuse("foo(unsigned int32_t a)", 5, 16,
           "'unsigned int32_t' is not a C type; write 'uint32_t'");
    refuse("foo(short long a)", 5, 10, "'short long' is not a C type");
    refuse("foo(long long long a)", 5, 14, "'long long long' is not a C type");
    refuse("foo(void a)", 5, 4, "'void' is not a C type; write 'void *a' for a pointer");
    refuse("foo(const a)", 5, 5, "'const' is not a C type");
    refuse("foo(*a)", 5, 1, "'*' is not a C type; write 'void *'");
    refuse("foo(const\tchar *a)", 10, 1, "a tab or its like inside of a type; write a blank");
    refuse("foo(char*const*a)", 9, 1,
           "a '*' right between two words; put a blank in front of the '*'");
    refuse("foo(TCGv a)", 5, 4,
           "the argument type 'TCGv' is not allowed; use C's own types, types of fixed width, or "
           "'void *' for other pointers");
    refuse_old("tcg foo(TCGv_i32 a) \"\", \"%x\"", 9, 8,
               "the argument type 'TCGv_i32' is not allowed; use C's own types, types of fixed "
               "width, or 'void *' for other pointers");
    refuse_old("foo(TCGv a) \"%x\"", 5, 4,
               "the argument type 'TCGv' is not allowed; use C's own types, types of fixed width, "
               "or 'void *' for other pointers");
    refuse("foo(class c)", 5, 5,
           "the argument type 'class' is not allowed; pass a pointer to it as 'void *', or its "
           "members one by one");
}

static void test_literals_told(void **state)
{
    refuse("\"lost format\"", 1, 0,
           "expected the name of an event; write an event and its format in one line");
    refuse("foo(char name[16])", 14, 4,
           "an array cannot be an argument; pass a string as 'const char *'");
    refuse("foo(int a) %d", 12, 1, "expected a format in double quotes");
    refuse("foo(int a) a=%d\"", 12, 0,
           "expected a format in double quotes; the opening '\"' is missing");
    refuse("foo(int a) 'a=%d'", 12, 1,
           "expected a format in double quotes; strings of C are in double quotes");
    refuse("foo(int a) “a=%d”", 12, 3, "expected a format in double quotes; write '\"'");
    refuse("foo(int a), \"a=%d\"", 11, 1, "expected a format in double quotes; leave the ',' out");
    refuse("foo(int a); ", 11, 1, "expected a format in double quotes; leave the ';' out");
    refuse("foo(int a): \"%d\"", 11, 1, "expected a format in double quotes; leave the ':' out");
    refuse("foo(int a) PRIx64 \"x\"", 12, 6,
           "expected a format in double quotes; write '\"%\" PRIx64'");
    refuse(
        "foo(int a) # hi", 12, 1,
        "expected a format in double quotes; a comment is a line of its own that begins with '#'");
    refuse(
        "foo(int a) // hi", 12, 1,
        "expected a format in double quotes; a comment is a line of its own that begins with '#'");
    refuse("foo(int a) \"%d", 12, 3,
           "a string that is not ended: a closing '\"' is missing; end the line with '\"'");
    refuse("foo(int a) \"a \"b %d\"", 18, 1,
           "expected a string in double quotes or a macro; a '\"' inside of the format is written "
           "'\\\"'");
    refuse("foo(int a) \"\\q %d\"", 13, 2,
           "an escape that C does not have; a backslash by itself is written '\\\\'");
    refuse("foo(int a) \"\\x %d\"", 13, 2,
           "an escape that C does not have; a backslash by itself is written '\\\\'");
    refuse("foo(int a) \"%d\\0\"", 15, 2, "a NUL in the format; text would end there");
    refuse("foo(int a) \"%d\" L\"x\"", 17, 1, "a string with a prefix; leave the prefix out");
    refuse("foo(uint64_t a) \"%\" PRIx46", 21, 6,
           "a macro that <inttypes.h> does not have; write 'PRIx64'");
    refuse("foo(uint64_t a) \"%\"PRI64", 20, 5,
           "a macro that <inttypes.h> does not have; write 'PRId64'");
    refuse("foo(int a) \"%d\" ; x", 17, 1,
           "expected a string in double quotes or a macro; leave the ';' out");
    refuse("foo(int a) \"%d\" /* c */", 17, 1,
           "expected a string in double quotes or a macro; a comment is a line of its own that "
           "begins with '#'");
    refuse("foo(int a) \"%d\" # c", 17, 1,
           "expected a string in double quotes or a macro; a comment is a line of its own that "
           "begins with '#'");
    refuse("foo(int a) \"failed: %m\"", 21, 2,
           "'%m' is not allowed in a format; pass the error as an argument");
    refuse("foo(int a) \"failed: %%m %d\"", 22, 2,
           "'%m' is not allowed in a format; pass the error as an argument");
    refuse("foo(int a) \"failed: %5m\"", 21, 3,
           "'%m' is not allowed in a format; pass the error as an argument");
    refuse("foo(int a) \"%d\\n\"", 15, 2,
           "the format must not end with a newline; leave it out: backends end their lines "
           "themselves");
    refuse("foo(int a) \"%d\\\\n\"", 16, 2,
           "the format must not end with a newline; leave it out: backends end their lines "
           "themselves");
    refuse("foo(int a) \"%d\" \"\\x0a\"", 18, 4,
           "the format must not end with a newline; leave it out: backends end their lines "
           "themselves");
    refuse("foo(int a) \"%d\\nb\"", 15, 2,
           "the format must not hold a newline; declare one event for each line");
    refuse("foo(int a) \"%d\",", 16, 1, "a ',' after the format; leave it out");
    refuse("foo(int a) \"%d\", \"%d\"", 16, 1,
           "a ',' after the format; only an event with the property 'tcg' has two formats");
    refuse_old("tcg foo(int a) \"%d\"", 20, 0,
               "an event with the property 'tcg' has two formats; it has one at translation and "
               "one at execution");
    refuse_old("tcg foo(int a) \"%d\",", 21, 0, "expected a format in double quotes");
    refuse_old("tcg foo(int a) \"%d\", \"%d\", \"b\"", 26, 1, "expected the end of the line");
    refuse_old("foo(int a) \"%d\\n\"", 15, 2,
               "the format must not end with a newline; leave it out: backends end their lines "
               "themselves");
    refuse("foo(int a) x", 12, 1, "expected a format in double quotes");
}

static void test_fits_told(void **state)
{
    warn("foo(int a) \"a \"b\" %d\"", 16, 1,
         "'b' outside of the quotes; a '\"' inside of the format is written '\\\"'");
    accept("foo(int a) \"\\u00e9 \\e[1m %d\" u8\"x\"");
    warn("foo(uint64_t a) \"%\"PRx64", 20, 5, "unknown macro 'PRx64'; write 'PRIx64'");
    warn("foo(uint64_t a) \"%PRIx64\"", 18, 7,
         "unknown conversion '%PRIx64'; a macro must be outside of the quotes: '\"%\" "
         "PRIx64'");
    refuse("foo(int a) \"%d %s\"", 16, 2,
           "no argument for '%s'; add an argument, or write '%%' for a percent sign");
    refuse("foo(int a) \"%s\"", 13, 2, "'%s' requires a string, but 'a' is 'int'; write '%d'");
    warn("foo(const char *a) \"%d\"", 21, 2,
         "'%d' requires an int, but 'a' is 'const char *'; write '%s', or '%p' for the address");
    warn("foo(void *a) \"%s\"", 15, 2, "'%s' requires a string, but 'a' is 'void *'; write '%p'");
    warn("foo(void *a) \"%x\"", 15, 2, "'%x' requires an int, but 'a' is 'void *'; write '%p'");
    warn("foo(uint64_t a) \"%d\"", 18, 2,
         "'%d' requires an int, but 'a' is 'uint64_t'; write '%\" PRIu64 \"'");
    warn("foo(uint32_t a) \"%\" PRIx64", 18, 9,
         "'%\" PRIx64' requires a long, but 'a' is 'uint32_t'; write '%x'");
    warn("foo(int a) \"%ld\"", 13, 3, "'%ld' requires a long, but 'a' is 'int'; write '%d'");
    warn("foo(int a) \"%f\"", 13, 2,
         "'%f' requires a floating point number, but 'a' is 'int'; write '%d'");
    warn("foo(int a) \"no value\"", 12, 10,
         "the format has no conversion for the argument 'a'; name it in the format, or leave it "
         "out");
    warn("foo(int a) \"100%\"", 16, 1, "unknown conversion '%'; write '%%' for a percent sign");
    refuse("foo(int a) \"%d 100% sure\"", 19, 3,
           "no argument for '% s'; add an argument, or write '%%' for a percent sign");
    refuse("foo(int *a) \"%n\"", 14, 2, "'%n' writes into memory; leave it out");
    warn("foo(int a) \"%k\"", 13, 2, "unknown conversion '%k'");
    accept_old("tcg vcpu foo(TCGv a, int b) \"%d\", \"%\" PRIx64 \" %d\"");
    accept_old("foo(int a) \"a\\nb %d\"");
    accept("foo(void, int a) \"%d\"");
    accept("  foo(int a) \"%d\"");
    accept("disable\tfoo(char * * a, const  unsigned\tb) \"%p %u\" ");
    accept("foo(int a) \"%hhx\"");
    accept("foo(uint8_t a, bool b, short c, long d, long long e, size_t f) \"%02x %d %hd %ld %llx "
           "%zu\"");
    accept("foo(int a, const char *s) \"%.*s\"");
    accept("foo(int a) \"%\" MY_FMT");
    warn("foo(int a) \"%'d\"", 13, 3, "unknown conversion '%'d'");
    warn("foo(int a) \"%1$d\"", 13, 4, "unknown conversion '%1$d'");
    accept("foo(int a)");
    warn("foo(int a) \"\"", 12, 2,
         "the format has no conversion for the argument 'a'; name it in the format, or leave it "
         "out");
    accept("foo(int class) \"%d\"");
    warn("disable foo(int a) \"%s\"", 21, 2,
         "'%s' requires a string, but 'a' is 'int'; write '%d'");
}

/* What an event of translated code lacks at translation is not missing in its format. */
static void test_tcg_fit(void **state)
{
    struct declarations d = parse_with(
        "tcg foo(TCGv a, int b) \"%d\", \"%d\"\n", OLD_RULES,
        "f:1:30+4: warning: the format has no conversion for the argument 'b'; name it in "
        "the format, or leave it out\n");

    assert_int_equal(d.n_events, 1);
    declarations_done(&d);
}

static void test_several_errors(void **state)
{
    struct declarations d = parse_with(
        "bad a(struct x y, foo z, int) \"%d\\n\"\n"
        "good(int a) \"%d\"\n"
        "b(\n"
        "c(size_t a, int b, void *p) \"%.*s %d\"\n"
        "tcg d(int a) \"%d\"\n"
        "foo bar\n"
        "e(void (*cb)(int), int b) \"%d\"\n"
        "last(int a) \"%d\"",
        DECLARATION_RULES_NEWEST,
        "f:1:1+3: unknown property 'bad'; the only property is 'disable'\n"
        "f:1:7+8: the argument type 'struct x' is not allowed; pass a pointer to it as 'void *', "
        "or "
        "its members one by one\n"
        "f:1:19+3: the argument type 'foo' is not allowed; use C's own types, types of fixed "
        "width, or 'void *' for other pointers\n"
        "f:1:29+0: the argument 'int' has no name; write 'int NAME'\n"
        "f:1:34+2: the format must not end with a newline; leave it out: backends end their lines "
        "themselves\n"
        "f:3:3+0: a ')' is missing; write ')' after the arguments\n"
        "f:4:30+4: warning: the '*' of '%.*s' requires an int, but 'a' is 'size_t'\n"
        "f:4:30+4: '%.*s' requires a string, but 'b' is 'int'; write '%d'\n"
        "f:4:35+2: warning: '%d' requires an int, but 'p' is 'void *'; write '%p'\n"
        "f:5:1+3: the property 'tcg' is one of QEMU before 7.2; leave it out\n"
        "f:6:1+3: unknown property 'foo'; the only property is 'disable'\n"
        "f:6:8+0: expected '(' directly after the event's name 'bar'; without arguments it is "
        "'bar(void)'\n"
        "f:7:8+1: a '(' among the arguments; pass a pointer to a function as 'void *'\n"
        "f:8:17+0: the file does not end with a newline\n");

    assert_int_equal(d.n_events, 2);
    declarations_done(&d);
}

/* Without DECLARE_FORMATS_FIT nothing about formats is an error; nor is it in what is compiled out. */
static void test_fit_is_lenient(void **state)
{
    struct declarations d =
        parse_with("a(int a) \"%s %n\"\n", DECLARE_GENERATE,
                   "f:1:11+2: warning: '%s' requires a string, but 'a' is 'int'; write '%d'\n"
                   "f:1:14+2: warning: '%n' writes into memory; leave it out\n");

    declarations_done(&d);
    d = parse_with("disable a(void) \"%s\"\n", DECLARATION_RULES_NEWEST,
                   "f:1:18+2: warning: no argument for '%s'; add an argument, or write '%%' "
                   "for a percent sign\n");
    declarations_done(&d);
}

/* Readers of traces take all that; some of it only where any type will do. */
static void test_readers_are_lenient(void **state)
{
    static const char text[] = "a(int a) \"%s %%m\"\n"
                               " a(int default, int b, char*const*b) \"a\\nb\"\n"
                               "A(const\tchar *s) \"\xff\"\n"
                               "vcpu tcg e(TCGv a, char * const p) \"\", \"\"\n";
    struct declarations d = parse(text);

    assert_int_equal(d.n_events, 4);
    declarations_done(&d);
    d = parse_with("a(struct foo *p, u32 x, void y) \"\"\n", DECLARE_ANY_TYPE, "");
    assert_int_equal(d.events[0].n_arguments, 3);
    declarations_done(&d);
}

static void test_names_twice(void **state)
{
    struct declarations d = parse_with(
        "a(void)\nb(void)\nA(void)\nb(int x) \"%d\"\n"
        "tcg c(void) \"\", \"\"\nc(void)\nc_exec(void)\n",
        OLD_RULES,
        "f:3:1+1: the event 'A' is declared a second time; upper and lower case are one: 'a'\n"
        "f:4:1+1: the event 'b' is declared a second time\n"
        "f:7:1+6: the event 'c_exec' is declared a second time; upper and lower case are one: "
        "'c'\n");
    struct errors errors = {""};

    /* Also in different files. */
    assert_int_equal(declarations_parse(&d, "g", "b(void)\n", 8, note, &errors, NULL), -EINVAL);
    assert_string_equal(errors.text, "g:1:1+1: the event 'b' is declared a second time\n");
    declarations_done(&d);
}

/* Lines as Python has them: all three ends; the numbers count on. */
static void test_lines(void **state)
{
    static const char crlf[] = "# c\r\na(int a) \"%d\"\r\n\r\nb(void)\r\n";
    static const char cr[] = "a(void)\rb(\rc(void)\r";
    struct declarations d = parse_with(crlf, DECLARATION_RULES_NEWEST, "");

    assert_int_equal(d.n_events, 2);
    assert_int_equal(d.events[1].line, 4);
    assert_string_equal(d.events[0].format_source, "\"%d\"");
    declarations_done(&d);
    d = parse_with(cr, DECLARATION_RULES_NEWEST,
                   "f:2:3+0: a ')' is missing; write ')' after the arguments\n");
    assert_int_equal(d.n_events, 2);
    assert_int_equal(d.events[1].line, 3);
    declarations_done(&d);
    d = parse_with("a(void)\r\nb(void)", DECLARATION_RULES_NEWEST,
                   "f:2:8+0: the file does not end with a newline\n");
    declarations_done(&d);
    d = parse_with("", DECLARATION_RULES_NEWEST, "");
    declarations_done(&d);
}

static void refuse_bytes(const char *text, size_t len, const char *expected)
{
    struct declarations d = {.rules = DECLARATION_RULES_NEWEST};
    struct errors errors = {""};

    assert_int_equal(declarations_parse(&d, "f", text, len, note, &errors, NULL), -EINVAL);
    assert_string_equal(errors.text, expected);
    declarations_done(&d);
}

#define REFUSE_BYTES(text, expected) refuse_bytes(text, sizeof(text) - 1, expected)

static void test_bytes(void **state)
{
    struct declarations d = {.rules = DECLARATION_RULES_NEWEST};

    REFUSE_BYTES("a(void)\nb(\0void)\nc(\n", "f:2:3+1: a NUL byte: is it a file of text?\n");
    REFUSE_BYTES("# \xe4\nb(int \xe4)\n",
                 "f:1:3+1: the byte 0xe4, here at first, is not UTF-8; save the file as UTF-8\n"
                 "f:2:7+1: '\xe4' has no place in an argument\n");
    REFUSE_BYTES("\xef\xbb\xbf"
                 "a(void)\nb(\n",
                 "f:1:1+0: the file begins with a byte order mark; save the file without\n"
                 "f:2:3+0: a ')' is missing; write ')' after the arguments\n");
    REFUSE_BYTES("\xff\xfe"
                 "a\0(\0",
                 "f:1:1+0: the file is in UTF-16; save the file as UTF-8\n");
    /* To QEMU's tracetool a comment may hold anything. */
    assert_int_equal(declarations_parse(&d, "f", "# \0\n#\0\na(void)\n", 15, NULL, NULL, NULL), 0);
    assert_int_equal(d.n_events, 1);
    declarations_done(&d);
}

/* As the tracetools of QEMU 5.2 and 7.2 took them. */
static void test_comma_parts(void **state)
{
    static const char what[] =
        "a ',' and then a '\"', which QEMU's tracetool parses as two formats; "
        "let the next string begin with the ','";
    unsigned rules_5 = declaration_rules_of_qemu(5, 2);
    unsigned rules_7 = declaration_rules_of_qemu(7, 2);

    told("a(int a, int b) \"a=%d, \" \"b=%d\"", rules_5, 22, 1, what);
    told("a(int a, int b) \"a=%d, \" \"b=%d\"", rules_7, 0, 0, NULL);
    told("vcpu a(int a) \"a=%d, \" \"\"", rules_7, 20, 1, what);
    told("vcpu a(int a) \"a=%d, \" ", rules_7, 20, 1, what);
    told("vcpu a(int a) \"a=%d, \"", rules_7, 0, 0, NULL);
    told("vcpu a(int a) \",\" \"a=%d, b\"", rules_7, 0, 0, NULL);
    told("vcpu a(int a) \"a=%d, \" \"\"", declaration_rules_of_qemu(0, 0), 0, 0, NULL);
}

static void test_rules_of_qemu(void **state)
{
    assert_int_equal(declaration_rules_of_qemu(0, 0), DECLARE_GENERATE);
    assert_int_equal(declaration_rules_of_qemu(5, 2), DECLARE_GENERATE | DECLARE_COMMA_PARTS);
    assert_int_equal(declaration_rules_of_qemu(7, 2),
                     DECLARE_GENERATE | DECLARE_NO_TCG | DECLARE_COMMA_PARTS);
    assert_int_equal(declaration_rules_of_qemu(10, 0),
                     DECLARE_GENERATE | DECLARE_NO_TCG | DECLARE_NO_NEWLINE);
    assert_int_equal(declaration_rules_of_qemu(10, 2),
                     DECLARATION_RULES_NEWEST & ~(unsigned)DECLARE_FORMATS_FIT);
}

static void test_first_error_ends(void **state)
{
    static const char text[] = "good(void)\nbad(\ngood2(void)\n";
    struct declarations d = {0};
    struct error error = {0};
    char told[512];

    assert_int_equal(declarations_parse(&d, "f", text, strlen(text), NULL, NULL, &error), -EINVAL);
    error_print(&error, told, sizeof told);
    assert_string_equal(told, "f:2: column 5: a ')' is missing; write ')' after the arguments");
    assert_int_equal(d.n_events, 1);
    declarations_done(&d);
}

static void test_missing_file(void **state)
{
    struct declarations d = {0};
    struct error error = {0};

    assert_int_equal(declarations_read(&d, "/nonexistent/events", NULL, NULL, &error), -ENOENT);
    assert_string_equal(error.path, "/nonexistent/events");
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
    assert_true(f[3].type == FIELD_POINTER && f[3].place == PLACE_AFTER_PREVIOUS && f[3].hex);
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
        cmocka_unit_test(test_head_told),
        cmocka_unit_test(test_arguments_told),
        cmocka_unit_test(test_types_told),
        cmocka_unit_test(test_literals_told),
        cmocka_unit_test(test_fits_told),
        cmocka_unit_test(test_tcg_fit),
        cmocka_unit_test(test_several_errors),
        cmocka_unit_test(test_fit_is_lenient),
        cmocka_unit_test(test_readers_are_lenient),
        cmocka_unit_test(test_names_twice),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_comma_parts),
        cmocka_unit_test(test_rules_of_qemu),
        cmocka_unit_test(test_first_error_ends),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_class),
        cmocka_unit_test(test_class_of_words),
        cmocka_unit_test(test_installed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
