/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "schema/kernel/format.h"
#include "schema/kernel/print_parse.h"

static const struct kernel_field fields[] = {
    {.name = "common_pid", .type = "int", .offset = 4, .size = 4},
    {.name = "a", .type = "int", .offset = 8, .size = 4, .element_size = 4},
    {.name = "b", .type = "u8[4]", .offset = 12, .size = 4, .flags = FIELD_IS_ARRAY},
};

static int parse(const char *print, struct arena *arena, struct print_tree *tree,
                 struct error *error)
{
    const struct kernel_event_format format = {.fields = fields,
                                               .n_common = 1,
                                               .n_fields = 3,
                                               .print = print,
                                               .print_len = strlen(print),
                                               .print_line = 12};

    return print_parse(arena, &format, 8, "path", tree, error);
}

/* WHAT is wrong with a print format; NULL: nothing. */
static void grammar(void **state)
{
    static const struct {
        const char *print;
        const char *what;
    } cases[] = {
        {" \"plain\"", NULL},
        {" \"two \" \"strings\"\n", NULL},
        {" \"a raw\ttab\"", NULL},
        {" \"%d\", REC->a", NULL},
        {" \"%d\", REC->common_pid", NULL},
        {" \"%d\", REC->none", "at 'none': the event has no such field"},
        {" \"%d\", (REC)->a", NULL},
        {" \"%d\", (unsigned long)(REC->a + 3) >> 2", NULL},
        {" \"%s\", (REC->a & 1) ? \"x\" : REC->a ? \"y\" : \"z\"", NULL},
        {" \"%s\", __print_flags(REC->a, \"|\", { 1, \"x\" }, { (1 << 3), \"y\" })", NULL},
        {" \"%s\", __print_flags(REC->a, \"|\", { REC->a, \"x\" })",
         "at ',': the value before it is not a constant"},
        {" \"%s\", __print_symbolic(REC->a, { -1, ((void *)0) })", NULL},
        {" \"%s\", __print_symbolic(REC->a, )", "at ')': expected '{'"},
        {" \"%s\", __print_symbolic(REC->a, { })", NULL},
        {" \"%s\", __print_symbolic(REC->a, { 1, \"x\" }, { })", "at '}': expected a value"},
        {" \"%s\", __print_symbolic(REC->a, { 1, -1 })", "not preceded by a name"},
        {" \"%s\", __print_hex(REC->b, 4), __print_array(REC->b, 2, sizeof(REC->a))", NULL},
        {" \"%d\", ((u8 *)__get_dynamic_array(a))[1]", NULL},
        {" \"%d\", __get_dynamic_array(a)[1]", "a dynamic array has elements"},
        {" \"%d\", __get_dynamic_array(common_pid)", "the event has no such field"},
        {" \"%d\", (u8 **)REC->a", "at '*': expected a value"},
        {" \"%d\", *REC->a", "at '*': expected a value"},
        {" \"%d\", (u8 *)", "expected what is cast"},
        {" \"%d\", (REC->a) REC->a", "expected an operator"},
        {" \"%d\", REC->a ++", "\"++\" and \"--\""},
        {" \"%d\", REC->a = 1", "at '=': unexpected character"},
        {" \"%d\", sizeof(long)", NULL},
        {" \"%d\", sizeof(unsigned int)", NULL},
        {" \"%d\", sizeof(REC->b)", "the size of an array"},
        {" \"%d\", sizeof(struct page)", "at 'struct': the size of this type is not known"},
        {" \"%d\", __builtin_expect(!!(REC->a), 0)", NULL},
        {" \"%d\", unheard_of(REC->a)", "at 'unheard_of': unknown function"},
        {" \"%d\", VIF_PR_FMT", "at 'VIF_PR_FMT': unexpected word"},
        {" \"%d\", (REC->a", "ends too early: expected ')'"},
        {" \"%d\", REC->a)", "at ')': expected ',' or the end"},
        {" \"%d\", REC->a ? 1", "ends too early: expected ':'"},
        {" \"unended", "a string does not end"},
        {" \"\1\"", "cannot be printed"},
        {" 'a'", "expected a string in double quotes"},
        {"", "ends too early: expected a string"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct print_tree tree;
        struct arena arena = {0};
        struct error error = {0};
        int r = parse(cases[i].print, &arena, &tree, &error);

        if (r != (cases[i].what ? -EBADMSG : 0) ||
            (cases[i].what && (!strstr(error.what, cases[i].what) || error.line != 12)))
            fail_msg("%s: %d, line %u, %s", cases[i].print, r, error.line, error.what);
        arena_done(&arena);
    }
}

static void put_node(const struct print_node *node, struct text *text)
{
    static const char *const names[] = {"!",  "~", "||", "|",  "&&", "&",  "<", "<=",
                                        "<<", ">", ">=", ">>", "==", "!=", "-", "+",
                                        "/",  "%", "*",  "^",  "?",  "["};

    if (!node) {
        text_put_char(text, '_');
        return;
    }
    switch ((enum print_kind)node->kind) {
    case PRINT_ATOM: text_put_str(text, node->text); return;
    case PRINT_FIELD: text_put_str(text, node->field->name); return;
    case PRINT_CAST:
        text_put_char(text, '<');
        text_put_str(text, node->text);
        text_put_char(text, '>');
        put_node(node->a, text);
        return;
    case PRINT_OPERATION:
        text_put_char(text, '(');
        put_node(node->a, text);
        text_put_str(text, names[node->op]);
        put_node(node->b, text);
        if (node->op == OPERATOR_CONDITION) {
            text_put_char(text, ':');
            put_node(node->c, text);
        }
        text_put_char(text, ')');
        return;
    default: text_put_char(text, '#'); return;
    }
}

/* Operators group as in C. */
static void grouping(void **state)
{
    static const struct {
        const char *argument, *tree;
    } cases[] = {
        {"1 + 2 * 3", "(1+(2*3))"},
        {"1 * 2 + 3", "((1*2)+3)"},
        {"1 << 2 & 3 == 4", "((1<<2)&(3==4))"},
        {"1 || 2 && 3 | 4 ^ 5", "(1||(2&&(3|(4^5))))"},
        {"REC->a / 1000 >= 5", "((a/1000)>=5)"},
        {"!REC->a && ~1", "((_!a)&&(_~1))"},
        {"REC->b[1] + 2", "((b[1)+2)"},
        {"(unsigned int) REC->a >> 20", "(<unsigned int>a>>20)"},
        {"(u8 *)REC->a", "<u8 *>a"},
        {"(1) - 2", "(1-2)"},
        {"REC->a ? 1 : 2", "(a?1:2)"},
        {"REC->a ? 1 + 2 : 3", "(a?(1+2):3)"},
        {"REC->a ? REC->b ? 1 : 2 : 3", "(a?(b?1:2):3)"},
        {"REC->a ? 1 : (REC->b ? 2 : 3)", "(a?1:(b?2:3))"},
        {"1 - 2 - 3", "((1-2)-3)"},
        {"8 / 4 * 2", "((8/4)*2)"},
        {"1 - 2 * 3 - 4", "((1-(2*3))-4)"},
        {"1 + 2 << 3 < 4 == 5 & 6 ^ 7 | 8 && 9 || 10",
         "(((((((((1+2)<<3)<4)==5)&6)^7)|8)&&9)||10)"},
        {"REC->a ? 1 : 2 + 3", "(a?1:(2+3))"},
        {"REC->a ? 1 : REC->b ? 2 : 3", "(a?1:(b?2:3))"},
        {"REC->a | 4 ? 1 : REC->b ? 2 : 3 | 4", "((a|4)?1:(b?2:(3|4)))"},
        {"(REC->a ? 1 : 2) | 4", "((a?1:2)|4)"},
        {"REC->a & (1 | 2)", "(a&(1|2))"},
        {"REC->a * (1 + 2)", "(a*(1+2))"},
        {"REC->a == (REC->b ? 1 : 2)", "(a==(b?1:2))"},
        {"REC->a << (1 + 2)", "(a<<(1+2))"},
        {"REC->a * -1", "(a*(_-1))"},
        {"-1 + 2", "((_-1)+2)"},
        {"-REC->b[1] + 2", "((_-(b[1))+2)"},
        {"!!REC->a", "(_!(_!a))"},
        {"(u32)REC->b[1] + 2", "(<u32>(b[1)+2)"},
        {"((u32 *)REC->b)[1]", "(<u32 *>b[1)"},
        /* Of real kernels: what is not as above in libtraceevent 1.7.1. timer_start, spi_setup */
        {"REC->a & (0x00040000 | 0x00080000 | 0x00100000)",
         "(a&((0x00040000|0x00080000)|0x00100000))"},
        /* kvm_nested_vmenter, aer_event, xen_mc_batch, xen_mc_issue, xen_mc_flush_reason */
        {"!REC->a ? REC->b : REC->common_pid == (1) ? 2 : 3", "((_!a)?b:((common_pid==1)?2:3))"},
        /* devfreq_monitor, devfreq_frequency, thermal_power_devfreq_get_power */
        {"REC->a == 0 ? 0 : 100 * REC->common_pid / REC->a", "((a==0)?0:((100*common_pid)/a))"},
        /* raid56_read, raid56_write */
        {"(REC->a < 3) ? REC->a + 1 : ((REC->a < 4) ? REC->a - 3 + 1 : 0)",
         "((a<3)?(a+1):((a<4)?((a-3)+1):0))"},
        /* mm_page_alloc_extfrag */
        {"REC->a < ((unsigned int)(21 - 12) < 10 ? 9 : 10)",
         "(a<((<unsigned int>(21-12)<10)?9:10))"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct text text = TEXT_IN_MEMORY;
        struct print_tree tree;
        struct arena arena = {0};
        struct error error = {0};
        char print[128];

        snprintf(print, sizeof print, "\"%%d\", %s", cases[i].argument);
        assert_int_equal(parse(print, &arena, &tree, &error), 0);
        put_node(tree.arguments, &text);
        text_put_char(&text, '\0');
        if (strcmp(text.start, cases[i].tree) != 0)
            fail_msg("%s: %s, not %s", cases[i].argument, text.start, cases[i].tree);
        text_done(&text);
        arena_done(&arena);
    }
}

static void arguments(void **state)
{
    struct print_tree tree;
    struct arena arena = {0};
    struct error error = {0};
    const struct print_node *node;

    assert_int_equal(parse("\"%d\" \" \\n\", 'c', __print_flags(REC->a, \"|\" \"-\", {1, \"x\"}, "
                           "{2, \"y\"}), __get_str(a), sizeof(long)",
                           &arena, &tree, &error),
                     0);
    assert_string_equal(tree.format, "%d \\n");
    node = tree.arguments;
    assert_string_equal(node->text, "c");
    node = node->next;
    assert_int_equal(node->kind, PRINT_FLAGS);
    assert_string_equal(node->text, "|-");
    assert_string_equal(node->names->name->text, "x");
    assert_string_equal(node->names->next->value->text, "2");
    assert_null(node->names->next->next);
    node = node->next;
    assert_int_equal(node->kind, PRINT_STRING);
    assert_ptr_equal(node->field, &fields[1]);
    assert_string_equal(node->next->text, "8");
    assert_null(node->next->next);
    arena_done(&arena);
}

static char *repeat(const char *head, const char *s, unsigned n, const char *tail)
{
    size_t len = strlen(s);
    char *text = malloc(strlen(head) + n * len + strlen(tail) + 1), *p = text;

    p = stpcpy(p, head);
    for (unsigned i = 0; i < n; i++)
        p = stpcpy(p, s);
    stpcpy(p, tail);
    return text;
}

/* What would make a recursive parser, or what walks its tree, run out of stack. */
static void deep(void **state)
{
    static const char *const cases[][3] = {
        {"(", "", "nested too deeply"},       {"!", "", "nested too deeply"},
        {"1+", "", "too many operators"},     {"(int)", "", "nested too deeply"},
        {"1?1:", "", "too many operators"},   {"1?", "", "nested too deeply"},
        {"REC->a[", "", "nested too deeply"}, {"__print_hex(", "", "nested too deeply"},
        {"1*-", "", "too many operators"},    {"word ", "", "unexpected word"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *text = repeat(" \"%d\", ", cases[i][0], 20000, "REC->a");
        struct print_tree tree;
        struct arena arena = {0};
        struct error error = {0};

        assert_int_equal(parse(text, &arena, &tree, &error), -EBADMSG);
        if (!strstr(error.what, cases[i][2]))
            fail_msg("%s: %s", cases[i][0], error.what);
        arena_done(&arena);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar),
        cmocka_unit_test(grouping),
        cmocka_unit_test(arguments),
        cmocka_unit_test(deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
