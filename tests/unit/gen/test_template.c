/* SPDX-License-Identifier: MIT */
/* The template engine: each directive, each error with its line; the templates that are built in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gen/gen.h"
#include "gen/template.h"
#include "gen/variables.h"

/* Compiles TEXT as a format of GEN_STRATA and runs it over DECLARED with the backends log and ring,
 * whose templates here are these. */
static const char log_text[] = "@section strata form event\n"
                               "log ${name}\n"
                               "  more\n"
                               "@section strata form begin\n"
                               "begin log of ${n_events}\n"
                               "@section any form both\n"
                               "log of any\n"
                               "@section strata form both\n"
                               "log of strata\n"
                               "@section strata other event\n"
                               "not this\n";
static const char ring_text[] = "@section any form event\n"
                                "ring ${name}\n"
                                "@section qemu form begin\n"
                                "not this\n"
                                "@section any form both\n"
                                "ring of any\n";
static const size_t log_len = sizeof log_text - 1;
static const size_t ring_len = sizeof ring_text - 1;
static const struct gen_backend log_backend = {"log", "log.tmpl", log_text, &log_len, ""};
static const struct gen_backend ring_backend = {"ring", "ring.tmpl", ring_text, &ring_len, ""};
static const struct gen_backend nop_backend = {"nop", NULL, NULL, NULL, ""};

static int run(const char *text, const char *declared, struct text *out, struct error *error)
{
    size_t len = strlen(text);
    const struct gen_format format = {"form", 0, "form.tmpl", text, &len, ""};
    const struct gen_job job = {
        .target = GEN_STRATA,
        .format = &format,
        .backends = {&log_backend, &nop_backend, &ring_backend},
        .n_backends = 3,
        .group = "some-group",
        .output_name = "out.h",
    };
    struct declarations declarations = {.rules = DECLARE_ANY_TYPE};
    int r;

    assert_int_equal(declarations_parse(&declarations, "dir/trace-events", declared,
                                        strlen(declared), NULL, NULL, error),
                     0);
    r = gen_run(&job, &declarations, out, error);
    declarations_done(&declarations);
    return r;
}

static void gives(const char *text, const char *declared, const char *wanted)
{
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};
    char whole[2000];

    snprintf(whole, sizeof whole, "@section strata\n%s", text);
    if (run(whole, declared, &out, &error) < 0)
        fail_msg("%s:%u: %s", error.path, error.line, error.what);
    text_put_char(&out, '\0');
    assert_string_equal(out.start, wanted);
    text_done(&out);
}

/* TEXT is wrong at LINE. */
static void refuses(const char *text, unsigned line, const char *what)
{
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};

    assert_int_equal(run(text, "one(int a) \"%d\"\n", &out, &error), -EINVAL);
    assert_string_equal(error.what, what);
    assert_int_equal(error.line, line);
    assert_string_equal(error.path, "form.tmpl");
    text_done(&out);
}

#define TWO "one(int a, const char *b) \"%d %s\"\ntwo(void) \"x\"\n"

static void test_text(void **state)
{
    gives("", TWO, "");
    gives("plain\n", TWO, "plain\n");
    gives("no newline at the end", TWO, "no newline at the end");
    gives("\n\n  kept  \n", TWO, "\n\n  kept  \n");
    gives("$ ${group} $1 {} $\n", TWO, "$ some_group $1 {} $\n");
    gives("${group}${GROUP}", TWO, "some_groupSOME_GROUP");
    gives("@# a comment\n  @#another\nx\n", TWO, "x\n");
    gives("@@count\n  @@ b\n", TWO, "@count\n  @ b\n");
    gives("a @if b @end\n", TWO, "a @if b @end\n");
}

static void test_loops(void **state)
{
    gives("@for events\n${name}(${params})\n@end\n", TWO, "one(int a, const char *b)\ntwo(void)\n");
    gives("@for events\n${id}:\n  @for arguments\n${index} ${type} ${arg}${comma}\n  "
          "@end\n@end\nend\n",
          TWO, "0:\n1 int a,\n2 const char * b\n1:\nend\n");
    gives("@for events\n@end\n", TWO, "");
    gives("@for events\nx\n@end\n", "", "");
    /* A loop in a loop comes back to its event. */
    gives("@for events\n${name}:\n@for events\n ${name}\n@end\n${name}.\n@end\n", TWO,
          "one:\n one\n two\none.\ntwo:\n one\n two\ntwo.\n");
}

static void test_conditions(void **state)
{
    static const char declared[] =
        "one(int a) \"\"\ndisable two(void *p) \"\"\nthree(char *s) \"\"\n"
        "four(bool b) \"\"\nfive(void)\n";

    gives("@for events\n@if disabled\noff\n@end\n@end\n", declared, "off\n");
    gives("@for events\n@if not disabled\non\n@else\noff\n@end\n@end\n", declared,
          "on\noff\non\non\non\n");
    gives("@for events\n@for arguments\n"
          "@if string\nS\n@elif pointer\nP\n@elif not bool\nI\n@else\nB\n@end\n"
          "@end\n@end\n",
          declared, "I\nP\nS\nB\n");
    gives("@for events\n@for arguments\n"
          "@if string\nS\n@elif pointer\nP\n@elif bool\nB\n@end\n"
          "@end\n@end\n",
          declared, "P\nS\nB\n");
    gives("@for events\n@if not no_arguments\n@if not disabled\n@for arguments\n${arg}\n@end\n"
          "@end\n@elif has_format\nformat\n@else\nnothing\n@end\n@end\n",
          declared, "a\ns\nb\nnothing\n");
    gives("@if any_backend\n@if any_event_section\nboth\n@end\n@end\n", "", "both\n");
    gives("@if no_events\nnone\n@else\nsome\n@end\n", "", "none\n");
    gives("@if no_events\nnone\n@else\nsome\n@end\n", TWO, "some\n");
}

static void test_one_line(void **state)
{
    gives("@line\na\n   b\n\n\t c \n@end\nd\n", TWO, "abc \nd\n");
    gives("@for events\n@line\n${name}(\n@for arguments\n${param}${comma} \n@end\n)\n@end\n@end\n",
          TWO, "one(int a, const char *b )\ntwo()\n");
    gives("@for events\n@line\n<\n@backends event\n>\n@end\n@end\n", "x(void) \"\"\n",
          "<log xmorering x>\n");
    gives("@line\n@end\n", TWO, "\n");
}

static void test_backends(void **state)
{
    gives("@backends begin\n", TWO, "begin log of 2\n");
    gives("@for events\n@backends event\n@end\n", TWO,
          "log one\n  more\nring one\nlog two\n  more\nring two\n");
    gives("@backends none\n-\n", TWO, "-\n");
    gives("@backends both\n", TWO, "log of strata\nring of any\n");
}

static void test_values(void **state)
{
    static const char declared[] =
        "# c\n\n  vcpu one(int class, int class_, char *x) \"%d\" PRIx64\n"
        "two(int errno)\n";

    gives("@for events\n${NAME} ${line} ${file} ${n_arguments} ${format}\n${params}\n${names}.\n"
          "(${comma_names})\n@for arguments\n${field}=${arg} ${kind} ${size}\n@end\n@end\n",
          declared,
          "ONE 3 dir/trace-events 4 \"cpu=%p \" \"%d\" PRIx64\n"
          "void *__cpu, int class__, int class_, char *x\n"
          "__cpu, class__, class_, x.\n(, __cpu, class__, class_, x)\n"
          "__cpu=__cpu STRATA_FIELD_POINTER 8\nclass=class__ STRATA_FIELD_SIGNED 4\n"
          "class_=class_ STRATA_FIELD_SIGNED 4\nx=x STRATA_FIELD_STRING 0\n"
          "TWO 4 dir/trace-events 1 \"\"\nint errno_\nerrno_.\n(, errno_)\n"
          "errno=errno_ STRATA_FIELD_SIGNED 4\n");
    gives("${header} ${provider} ${output} ${group_as_given}|${prefix}|${binary}|\n", "",
          "trace-some-group.h some_group out.h some-group|||\n");
}

static void test_printed(void **state)
{
    gives("@for events\n${comma_printed}\n@end\n",
          "none(void) \"%%\"\n"
          "some(int *p, const void *q, void *r, char *s, char *t) \"%p %p %p %s %p\"\n"
          "star(int w, int *p, int *q) \"%*d %% %p\"\n"
          "less(int *p) \"\"\n"
          "more(int *p) \"%p %p\"\n"
          "vcpu cpu(int *p) \"%p\"\n"
          "number(uint64_t p) \"%p\"\n",
          "\n"
          ", strata_pointer(p), q, r, s, strata_pointer(t)\n"
          ", w, p, strata_pointer(q)\n"
          ", p\n"
          ", strata_pointer(p)\n"
          ", __cpu, strata_pointer(p)\n"
          ", p\n");
}

static void test_tcg(void **state)
{
    static const char declared[] =
        "vcpu tcg mem(TCGv_i32 addr, uint8_t info, TCGv x) \"i=%d\", \"a=%d i=%d %lu\"\n";

    gives(
        "@for events\n${name} ${declared_name} ${DECLARED_NAME} ${params} ${format}\n"
        "@if tcg_trans\ntrans\n@elif tcg_exec\nexec\n@end\n@if tcg\ntcg\n@end\n@if vcpu\nvcpu\n"
        "@end\n@end\n",
        declared,
        "mem_trans mem MEM void *__cpu, uint8_t info \"cpu=%p \" \"i=%d\"\ntrans\ntcg\nvcpu\n"
        "mem_exec mem MEM void *__cpu, uint32_t addr, uint8_t info, uint64_t x \"cpu=%p \" \"a=%d "
        "i=%d %lu\"\nexec\ntcg\nvcpu\n");
}

static void test_next_line(void **state)
{
    gives("1\n2\n#line ${next_line} \"${output}\"\n4\n5 ${next_line}\n@for "
          "events\n${next_line}\n@end\n",
          TWO, "1\n2\n#line 4 \"out.h\"\n4\n5 6\n7\n8\n");
}

static void test_errors(void **state)
{
    refuses("text\n", 1, "text in front of the first @section");
    refuses("\n@if disabled\n", 2, "@if in front of the first @section");
    refuses("@section strata\na\n@fro events\n", 3, "unknown directive '@fro'");
    refuses("@section strata\n@\n", 2, "unknown directive '@'");
    refuses("@section\n", 1, "a section's key begins with 'any', 'strata' or 'qemu', not ''");
    refuses("@section stratum h\n", 1,
            "a section's key begins with 'any', 'strata' or 'qemu', not 'stratum h'");
    refuses("@section strata\n@section any\n@section strata\n", 3,
            "the section 'strata' is there twice");
    refuses("@section strata\n\n${nmae}\n", 3, "unknown value '${nmae}'");
    refuses("@section strata\n${name\n", 2, "missing '}' after '${'");
    refuses("@section strata\n@if disabel\n@end\n", 2, "unknown flag 'disabel'");
    refuses("@section strata\n@if not\n@end\n", 2, "unknown flag 'not'");
    refuses("@section strata\n@if\n@end\n", 2, "unknown flag ''");
    refuses("@section strata\n@for each\n@end\n", 2,
            "@for goes over 'events' or 'arguments', not 'each'");
    refuses("@section strata\n\n@for events\nx\n", 4, "an @end is missing for the @for of line 3");
    refuses("@section strata\n@if no_events\n@section any\n", 3,
            "an @end is missing for the @if of line 2");
    refuses("@section strata\n@line\n", 2, "an @end is missing for the @line of line 2");
    refuses("@section strata\n@end\n", 2, "@end without anything to end");
    refuses("@section strata\n@else\n", 2, "@else without an @if");
    refuses("@section strata\n@for events\n@elif disabled\n@end\n", 3, "@elif without an @if");
    refuses("@section strata\n@if no_events\n@else\n@else\n@end\n", 4,
            "@else after the @else of line 3");
    refuses("@section strata\n@if no_events\n@else\n@elif no_events\n@end\n", 4,
            "@elif after the @else of line 3");
    refuses("@section strata\n@if no_events\n@else if\n@end\n", 3, "unexpected 'if' after @else");
    refuses("@section strata\n@if no_events\n@end if\n", 3, "unexpected 'if' after @end");
    refuses("@section strata\n@line x\n@end\n", 2, "unexpected 'x' after @line");
    refuses("@section strata\n@line\n@line\n@end\n@end\n", 3, "@line inside of @line");
    refuses("@section strata\n@backends\n", 2, "@backends requires the name of a section");
    refuses("@section strata\n"
            "@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n"
            "@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n@if tcg\n",
            18, "blocks inside of blocks, more than 16 deep");
    /* Seen when it runs. */
    refuses("@section strata\n\n${name}\n", 3, "'name' outside of '@for events'");
    refuses("@section strata\n@for events\n@if string\n@end\n@end\n", 3,
            "'string' outside of '@for arguments'");
    refuses("@section strata\n@for arguments\n@end\n", 2,
            "'@for arguments' outside of '@for events'");
}

/* A section of a backend that is asked for where there is no event. */
static void test_backend_out_of_place(void **state)
{
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};

    assert_int_equal(run("@section strata\n@backends event\n", TWO, &out, &error), -EINVAL);
    assert_string_equal(error.path, "log.tmpl");
    assert_int_equal(error.line, 2);
    assert_string_equal(error.what, "'name' outside of '@for events'");
    text_done(&out);
}

static void test_no_target(void **state)
{
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};

    assert_int_equal(run("@section qemu\nx\n", TWO, &out, &error), -EINVAL);
    assert_string_equal(error.what, "the format 'form' is only for QEMU's own tree: --target qemu");
    assert_int_equal(text_len(&out), 0);
    text_done(&out);
}

static void test_group(void **state)
{
    static const char text[] = "@section any\n${group}\n";
    static const size_t len = sizeof text - 1;
    const struct gen_format format = {"form", 0, "form.tmpl", text, &len, ""};
    struct gen_job job = {.format = &format};
    struct declarations declarations = {0};
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};
    char name[200];

    job.group = "hw/net.x-1";
    assert_int_equal(gen_run(&job, &declarations, &out, &error), 0);
    assert_memory_equal(out.start, "hw_net_x_1\n", 11);

    job.group = "9p";
    assert_int_equal(gen_run(&job, &declarations, &out, &error), -EINVAL);
    assert_string_equal(error.what, "the group '9p' begins with a digit, which no name in C does");

    error_clear(&error);
    memset(name, 'x', sizeof name);
    name[199] = '\0';
    job.group = name;
    assert_int_equal(gen_run(&job, &declarations, &out, &error), -EINVAL);
    assert_string_equal(error.what, "the name of the group is longer than 127");
    text_done(&out);
}

/* All that is built in compiles, and each section has a use. */
static void check_built_in(const char *name, const char *text, size_t len, bool is_backend)
{
    struct gen_template template;
    struct arena arena = {0};
    struct error error = {0};

    if (template_compile(name, text, len, &arena, &template, &error) < 0)
        fail_msg("%s:%u: %s", error.path, error.line, error.what);
    for (unsigned i = 0; i < template.n_sections; i++) {
        char target[16], format[32], section[32];
        int n = sscanf(template.sections[i].key, "%15s %31s %31s", target, format, section);

        if (n != (is_backend ? 3 : 1))
            fail_msg("%s: strange section '%s'", name, template.sections[i].key);
        if (is_backend && !gen_format_find(format, strlen(format)))
            fail_msg("%s: there is no format for the section '%s'", name, template.sections[i].key);
    }
    arena_done(&arena);
}

static void test_built_in(void **state)
{
    for (const struct gen_format *format = gen_formats; format->name; format++) {
        check_built_in(format->file, format->template_text, *format->template_len, false);
        assert_ptr_equal(gen_format_find(format->name, strlen(format->name)), format);
    }
    for (const struct gen_backend *backend = gen_backends; backend->name; backend++) {
        if (backend->template_text)
            check_built_in(backend->file, backend->template_text, *backend->template_len, true);
        assert_ptr_equal(gen_backend_find(backend->name, strlen(backend->name)), backend);
    }
    assert_null(gen_format_find("h", 0));
    assert_null(gen_format_find("hh", 2));
    assert_null(gen_backend_find("lo", 2));
    assert_null(gen_backend_find("logs", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_printed),
        cmocka_unit_test(test_tcg),
        cmocka_unit_test(test_next_line),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_backend_out_of_place),
        cmocka_unit_test(test_no_target),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_built_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
