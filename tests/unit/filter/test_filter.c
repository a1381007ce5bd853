/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter/filter.h"
#include "runtime/events.h"
#include "runtime/macro.h"
#include "runtime/process/thread_number.h"

static const struct strata_field fields[] = {
    {"u8", "uint8_t", STRATA_FIELD_UNSIGNED, 1},
    {"s8", "int8_t", STRATA_FIELD_SIGNED, 1},
    {"u32", "uint32_t", STRATA_FIELD_UNSIGNED, 4},
    {"s32", "int", STRATA_FIELD_SIGNED, 4},
    {"u64", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"s64", "int64_t", STRATA_FIELD_SIGNED, 8},
    {"b", "bool", STRATA_FIELD_BOOL, 1},
    {"p", "void *", STRATA_FIELD_POINTER, 8},
    {"name", "const char *", STRATA_FIELD_STRING, 0},
    {"other", "char *", STRATA_FIELD_STRING, 0},
    {"nul", "const char *", STRATA_FIELD_STRING, 0},
};

static uint64_t values[ARRAY_SIZE(fields)];

/* 1, 0, or what compiling says. */
static int run(const char *text)
{
    _cleanup_free_ struct filter_condition *condition = NULL;
    _cleanup_free_ struct filter_program *program = NULL;
    struct filter_error error;
    struct filter_error warning;
    int r;

    r = filter_parse(text, &condition, &error);
    if (r >= 0)
        r = filter_compile(condition, fields, ARRAY_SIZE(fields), &program, &error, &warning);
    if (r < 0) {
        print_message("%s: column %zu: %s\n", text, error.column, error.text);
        return r;
    }
    assert_true(filter_verify(program, program->size, fields, ARRAY_SIZE(fields)));
    return filter_run(program, values, thread_number);
}

static void check(const char *text, int expected)
{
    if (run(text) != expected)
        fail_msg("%s is not %d", text, expected);
}

static void set_values(void)
{
    values[0] = 200;
    values[1] = (uint64_t)-100;
    values[2] = 4000000000;
    values[3] = (uint64_t)-7;
    values[4] = UINT64_MAX - 1;
    values[5] = (uint64_t)INT64_MIN;
    values[6] = 1;
    values[7] = 0x1000;
    values[8] = (uintptr_t) "disk0";
    values[9] = (uintptr_t) "a*b\\c";
    values[10] = 0;
}

static void test_values(void **state)
{
    static const char *const hold[] = {
        "1",
        "u8 == 200",
        "s8 == -100",
        "u32 == 4000000000",
        "u32 == 0xEE6B2800",
        "s32 == -7",
        "s32 < 0",
        "s32 == -07 && s32 == -0x7 && s32 == -0b111 && s32 == -7LL",
        "u64 == 0xfffffffffffffffe",
        "u64 == 18446744073709551614u",
        "u64 > 0",
        "s64 < u64",
        "-1 < u64", /* by value, where C would make 2^64 - 1 of -1 */
        "u64 > -1",
        "u64 != -2",
        "s64 == -9223372036854775807 - 1",
        "b",
        "b == true && !b == false",
        "p == 4096 && p != NULL",
        "'a' == 97 && '\\n' == 10 && '\\0' == 0 && '\\x41' == 'A' && '\\'' == 39 && '\\377' == -1",
        /* precedence, as in C */
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "1 << 2 + 1 == 8",
        "7 & 3 == 3",
        "4 | 1 ^ 1 & 3 == 3",
        "1 || 0 && 0",
        "!0 == 1",
        "-1 + 2 == 1 && ~0 == -1 && - - 3 == 3 && +3 == 3",
        "10 - 3 - 2 == 5 && 100 / 10 / 5 == 2",
        "1 < 2 == 1",
        /* 64 bits, and a result for everything */
        "u8 - 201 < 0",
        "u32 * 2 == 8000000000",
        "u64 + 2 == 0",
        "u64 - u64 - 1 == 0xffffffffffffffff",
        "-7 / 2 == -3 && -7 % 2 == -1 && s32 / 2 == -3 && s32 % 2 == -1",
        "u64 / 2 == 0x7fffffffffffffff",
        "s64 / -1 == s64 && s64 % -1 == 0",
        "s32 >> 1 == -4 && s32 >> 100 == -1 && u64 >> 63 == 1 && u64 >> 64 == 0 && u32 << 64 == 0",
        "u32 << -1 == 0",
        /* what is not looked at does no harm */
        "1 || 1 / 0",
        "u8 != 200 || s32 < 0 || 5 % 0",
        "!(0 && 1 / 0)",
        "b && (u8 == 1 || u8 == 200) && !(s32 > 0)",
        "3 && 4",
        "(3 && 4) == 1 && (0 || 7) == 1",
        /* strings */
        "name == \"disk0\"",
        "name == \"disk*\" && name == \"*0\" && name == \"d?sk?\" && name == \"*\"",
        "\"d*\" == name",
        "name != \"disk\"",
        "name != \"DISK0\" && name != \"\"",
        "other == \"a\\*b\\\\c\"",
        "other == \"a\\x2ab\\134c\"",
        "nul == \"\"",
        "name != other && name == name && nul == nul && nul != name",
        "(name == \"x\") == 0",
        "thread.id > 0",
        "thread.name == \"a thread's*\"",
    };
    static const char *const hold_not[] = {
        "0",
        "u8 > 200",
        "s8 > 0",
        "u64 == -2",
        "u64 < -1",
        "s32 == 4294967289",
        "1 / 0",
        "1 / 0 == 0 || 1", /* as a whole */
        "!(1 % (u8 - 200))",
        "s32 / (b - 1) > 0",
        "name == \"disk\"",
        "name == \"isk0\"",
        "name == \"disk0?\"",
        "other == \"a\\*\"",
        "other != \"a*\\\\c\"",
        "nul == \"?*\"",
        "b && u8 == 1 || s32 > 0",
        "thread.id == 0",
        "thread.name == \"thread\"",
    };
    char name[] = "a thread's name";

    prctl(PR_SET_NAME, name);
    set_values();
    for (size_t i = 0; i < ARRAY_SIZE(hold); i++)
        check(hold[i], 1);
    for (size_t i = 0; i < ARRAY_SIZE(hold_not); i++)
        check(hold_not[i], 0);
    snprintf(name, sizeof(name), "%ld", syscall(SYS_gettid));
    char text[64];
    snprintf(text, sizeof(text), "thread.id == %s", name);
    check(text, 1);

    /* What callers leave above the bits of an argument does not count. */
    values[0] = 0x1234500 + 200;
    values[1] = 156;
    check("u8 == 200 && s8 == -100", 1);

    /* A string that does not end. */
    char *endless = malloc(STRATA_STRING_MAX);
    memset(endless, 'x', STRATA_STRING_MAX);
    values[8] = values[9] = (uintptr_t)endless;
    check("name == \"x*x\" && name != \"*y\" && name == other", 1);
    free(endless);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        size_t column;
        const char *message; /* a part */
    } wrong[] = {
        {"", 1, "empty"},
        {"  ", 1, "empty"},
        {"u8 >", 5, "value is missing at the end"},
        {"u8 > && 1", 6, "in front of '&&'"},
        {"(u8 > 1", 1, "not closed"},
        {"u8 > 1)", 7, "closes nothing"},
        {"u8 u32", 4, "operator is missing"},
        {"(u8 u32)", 5, "operator or ')'"},
        {"u8 = 1", 4, "write '=='"},
        {"u8 == 1.5", 7, "whole"},
        {"u8 == 1e5", 7, "whole"},
        {"u8 == 0x", 7, "no digits"},
        {"u8 == 089", 8, "octal"},
        {"u8 == 12ab", 9, "belong"},
        {"u8 == 18446744073709551616", 7, "64 bits"},
        {"u8 == 'ab'", 7, "one character"},
        {"u8 == ''", 7, "missing character"},
        {"u8 == '\\q'", 8, "escape"},
        {"name == \"abc", 9, "no \""},
        {"name == \"a\\0\"", 9, "NUL"},
        {"name == \"\\400\"", 10, "invalid character"},
        {"name ~ \"x\"", 6, "use '=='"},
        {"u8 @ 1", 4, "'@'"},
        {"u8 \303\244", 4, "0xc3"},
        {"nothing > 1", 1, "no argument 'nothing'"},
        {"1 && thread.nam == \"x\"", 6, "thread.name"},
        {"name", 1, "compared"},
        {"name > 3", 1, "compared"},
        {"name == 3", 1, "compared"},
        {"3 == name", 6, "compared"},
        {"!name", 2, "compared"},
        {"u8 && name", 7, "compared"},
        {"name && u8", 1, "compared"},
        {"name + 1", 1, "compared"},
        {"u8 == \"x\"", 7, "compared"},
        {"\"x\" == \"x\"", 8, "compared"},
        {"name < \"x\"", 1, "compared"},
        {"name == thread.name", 6, "thread.name"},
    };
    char text[FILTER_TEXT_MAX + 2];
    struct filter_error error;
    struct filter_condition *condition;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        _cleanup_free_ struct filter_condition *parsed = NULL;
        _cleanup_free_ struct filter_program *program = NULL;
        struct filter_error warning;
        int r = filter_parse(wrong[i].text, &parsed, &error);

        if (r >= 0)
            r = filter_compile(parsed, fields, ARRAY_SIZE(fields), &program, &error, &warning);
        if (r != -EINVAL || error.column != wrong[i].column ||
            !strstr(error.text, wrong[i].message))
            fail_msg("'%s': %d, column %zu: %s", wrong[i].text, r, error.column, error.text);
    }
    memset(text, ' ', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(filter_parse(text, &condition, &error), -EINVAL);
    memset(text, '(', 100);
    memset(text + 101, ')', 100);
    text[100] = '1';
    text[201] = '\0';
    assert_int_equal(filter_parse(text, &condition, &error), -EINVAL);
    assert_int_equal(error.column, FILTER_NESTING_MAX + 1);
    /* As many values as wait for their operators at the most. */
    size_t len = 0;
    for (int i = 0; i < 20; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "1|1^(");
    snprintf(text + len, sizeof(text) - len, "u8%.*s", 20, "))))))))))))))))))))");
    assert_int_equal(run(text), -EINVAL);
    /* Chains have no limit but the text's. */
    len = 0;
    for (int i = 0; i < 400; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%su8==%d", i ? "||" : "", i % 100);
    set_values();
    check(text, 0);
    values[0] = 99;
    check(text, 1);
}

static void test_warnings(void **state)
{
    static const struct {
        const char *text;
        size_t column;
    } odd[] = {
        {"u8 & 1 == 0", 4},
        {"0 == u8 | 1", 9},
        {"(u8 & 1) == 0", 0},
        {"1 < u8 < 3", 8},
        {"u8 == 256", 7},
        {"u8 == -1", 7},
        {"-1 == u8", 1},
        {"u8 == 255", 0},
        {"s8 == 128", 7},
        {"s8 == -128", 0},
        {"s8 > -129", 6},
        {"b == 2", 6},
        {"s32 < 1 << 31", 7},
        {"u64 == -1", 8},
        {"u64 == ~0u", 0},
        {"u64 == 0xffffffffffffffff", 0},
        {"s64 == 0xffffffffffffffff", 8},
        {"u8 + 0 == 256", 0},
        {"u8 < 0", 6},
        {"u8 >= 0", 7},
        {"0 > u8", 1},
        {"u8 > 0", 0},
        {"u8 <= 255", 7},
        {"255 > u8", 0},
        {"u64 < 0", 7},
        {"s64 < 0", 0},
        {"u8 != 300", 7},
    };

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        _cleanup_free_ struct filter_condition *condition = NULL;
        _cleanup_free_ struct filter_program *program = NULL;
        struct filter_error error;
        struct filter_error warning;

        assert_int_equal(filter_parse(odd[i].text, &condition, &error), 0);
        assert_int_equal(
            filter_compile(condition, fields, ARRAY_SIZE(fields), &program, &error, &warning), 0);
        if (condition->warning.column)
            warning = condition->warning;
        if (warning.column != odd[i].column)
            fail_msg("'%s': column %zu: %s", odd[i].text, warning.column, warning.text);
    }
}

/* What the compiler would never make. */
static void test_verify(void **state)
{
    static const struct filter_instruction codes[][4] = {
        {{OPERATION_RETURN, 0, 0}}, /* nothing to return */
        {{OPERATION_CONSTANT, 0, 0},
         {OPERATION_NOT, 0, 0},
         {OPERATION_NOT, 0, 0},
         {OPERATION_NOT, 0, 0}},                                /* no end */
        {{OPERATION_CONSTANT, 0, 1}, {OPERATION_RETURN, 0, 0}}, /* no such constant */
        {{OPERATION_LOAD_U, 11, 0}, {OPERATION_RETURN, 0, 0}},  /* no such field */
        {{OPERATION_LOAD_U, 8, 0}, {OPERATION_RETURN, 0, 0}},   /* a string */
        {{OPERATION_LOAD_U, 0, 64}, {OPERATION_RETURN, 0, 0}},  /* too far */
        {{OPERATION_MATCH, 0, 0}, {OPERATION_RETURN, 0, 0}},    /* a number */
        {{OPERATION_MATCH, 8, 64}, {OPERATION_RETURN, 0, 0}},   /* no such pattern */
        {{OPERATION_SAME, 8, 7}, {OPERATION_RETURN, 0, 0}},
        {{OPERATION_CONSTANT, 0, 0}, {OPERATION_ADD, 0, 0}, {OPERATION_RETURN, 0, 0}},
        {{OPERATION_CONSTANT, 0, 0}, {OPERATION_CONSTANT, 0, 0}, {OPERATION_CONSTANT, 0, 0}},
        {{OPERATION_CONSTANT, 0, 0}, {OPERATION_AND, 0, 0}, {OPERATION_RETURN, 0, 0}}, /* back */
        {{OPERATION_CONSTANT, 0, 0}, {OPERATION_AND, 0, 4}, {OPERATION_RETURN, 0, 0}}, /* out */
        {{OPERATION_CONSTANT, 0, 0}, {OPERATION_AND, 0, 2}, {OPERATION_RETURN, 0, 0}}, /* 0 or 1 */
        {{OPERATIONS, 0, 0}, {OPERATION_RETURN, 0, 0}},
    };
    _Alignas(8) char bytes[sizeof(struct filter_program) + 8 + 16 + 8] = {0};
    struct filter_program *program = (struct filter_program *)bytes;
    struct filter_instruction *code;

    *program = (struct filter_program){
        .size = sizeof(bytes), .n_constants = 1, .n_instructions = 4, .n_fields = 11, .depth = 2};
    code = (struct filter_instruction *)filter_instructions(program);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        unsigned n = 4;

        while (n > 1 && codes[i][n - 1].operation == OPERATION_RETURN &&
               codes[i][n - 2].operation == OPERATION_RETURN)
            n--;
        program->n_instructions = (uint16_t)n;
        memcpy(code, codes[i], sizeof(codes[i]));
        if (filter_verify(program, sizeof(bytes), fields, ARRAY_SIZE(fields)))
            fail_msg("program %zu is taken", i);
    }
    program->n_instructions = 2;
    code[0] = (struct filter_instruction){OPERATION_MATCH, 8, 0};
    code[1] = (struct filter_instruction){OPERATION_RETURN, 0, 0};
    assert_true(filter_verify(program, sizeof(bytes), fields, ARRAY_SIZE(fields)));
    assert_false(filter_verify(program, sizeof(bytes) - 8, fields, ARRAY_SIZE(fields)));
    assert_false(filter_verify(program, sizeof(bytes), fields, 10));
    memset(bytes + sizeof(bytes) - 16, 'x', 16); /* the pattern does not end */
    assert_false(filter_verify(program, sizeof(bytes), fields, ARRAY_SIZE(fields)));
    program->depth = FILTER_STACK_MAX + 1;
    assert_false(filter_verify(program, sizeof(bytes), fields, ARRAY_SIZE(fields)));
}

/* ---- Events ---- */

static const struct strata_field one_field[] = {{"value", "int", STRATA_FIELD_SIGNED, 4}};
static const struct strata_field two_fields[] = {{"other", "int", STRATA_FIELD_SIGNED, 4},
                                                 {"value", "int64_t", STRATA_FIELD_SIGNED, 8}};

static uint8_t states[4];
static struct strata_event events[4] = {
    {.name = "filter_a",
     .fields = one_field,
     .n_fields = 1,
     .state = &states[0],
     .compiled_in = true},
    {.name = "filter_b",
     .fields = two_fields,
     .n_fields = 2,
     .state = &states[1],
     .compiled_in = true},
    {.name = "filter_none", .state = &states[2], .compiled_in = true},
    {.name = "filter_never", .fields = one_field, .n_fields = 1, .state = &states[3]},
};
static struct strata_group group = {
    .abi = STRATA_TRACE_ABI, .n_events = 4, .name = "filter", .events = events};

static char said[1024];
static unsigned n_said;

static void listen(const char *message, void *userdata)
{
    snprintf(said, sizeof(said), "%s", message);
    n_said++;
}

/* What trace_NAME() does. */
static bool passes(unsigned event, int64_t value)
{
    const uint64_t one[] = {(uint64_t)value};
    const uint64_t two[] = {0, (uint64_t)value};
    uint8_t now = __atomic_load_n(&states[event], __ATOMIC_RELAXED);

    if (now == 0 || now == STRATA_STATE_ON)
        return now;
    /* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): that it may be called from one is tested */
    return strata_filter_pass(&events[event], event == 1 ? two : one);
}

static void expect(unsigned n, const char *message)
{
    assert_int_equal(n_said, n);
    if (n > 0)
        assert_string_equal(said, message);
    n_said = 0;
}

static void test_events(void **state)
{
    strata_trace_set_message(listen, NULL);
    /* Said before they are there. */
    assert_int_equal(strata_event_set_filter("filter_*", "value > 10"), 0);
    expect(1, "warning: no event 'filter_*' for the condition 'value > 10'");
    strata_group_register(&group);
    expect(1, "warning: condition 'value > 10', column 1: the event has no argument 'value': "
              "'filter_none' "
              "stays as it was");
    assert_int_equal(states[0], 3);
    assert_int_equal(states[1], 3);
    assert_int_equal(states[2], 0);
    assert_int_equal(states[3], 0);
    assert_true(passes(0, 11) && !passes(0, 10) && !passes(0, -1));
    assert_true(passes(1, 11) && !passes(1, 10));
    assert_string_equal(strata_event_get_filter(&events[0]), "value > 10");
    assert_null(strata_event_get_filter(&events[2]));

    /* Another condition; events that do not take it keep theirs. */
    assert_int_equal(strata_event_set_filter("filter_*", "other == 0 && value < 0"), 1);
    expect(1, "warning: condition 'other == 0 && value < 0', column 1: the event has no argument "
              "'other': "
              "'filter_a' and 2 other events stay as they were");
    assert_true(passes(0, 11) && !passes(1, 11) && passes(1, -1));
    assert_int_equal(strata_event_set_filter("filter_a", "other"), -EOPNOTSUPP);
    expect(1, "warning: condition 'other', column 1: the event has no argument 'other': 'filter_a' "
              "stays as "
              "it was");
    assert_true(passes(0, 11) && !passes(0, 10));
    assert_int_equal(strata_event_set_filter("filter_a", "value >"), -EINVAL);
    expect(1, "condition 'value >', column 8: a value is missing at the end");
    assert_true(passes(0, 11) && !passes(0, 10));
    assert_int_equal(strata_event_set_filter("filter_never", "value"), -EPERM);
    assert_int_equal(strata_event_set_filter("filter_nothing", "value"), -ENOENT);
    assert_int_equal(strata_event_set_filter("", "value"), -EINVAL);
    assert_int_equal(strata_event_set_filter(NULL, "value"), -EINVAL);
    expect(0, NULL);

    /* No condition: what is on stays on. */
    assert_int_equal(strata_event_set_filter("filter_*", NULL), 3);
    assert_int_equal(states[0], 1);
    assert_int_equal(states[1], 1);
    assert_int_equal(states[2], 0);
    assert_null(strata_event_get_filter(&events[0]));
    /* To switch takes conditions away. */
    assert_int_equal(strata_event_set_filter("filter_b", "0"), 1);
    assert_false(passes(1, 1));
    assert_int_equal(strata_event_set_state("filter_*", true), 3);
    assert_int_equal(states[1], 1);
    assert_int_equal(strata_event_set_filter("filter_b", "0"), 1);
    assert_int_equal(strata_event_set_state("filter_b", false), 1);
    assert_int_equal(states[1], 0);
    assert_int_equal(strata_event_set_filter("filter_*", NULL), 3);
    assert_int_equal(states[1], 0);

    /* An event that goes and comes back is as it was. */
    assert_int_equal(strata_event_set_filter("filter_a", "value == 5"), 1);
    strata_group_unregister(&group);
    assert_int_equal(states[0], 0);
    strata_group_register(&group);
    assert_int_equal(states[0], 3);
    assert_true(passes(0, 5) && !passes(0, 6));

    /* The same name with other arguments follows, as far as it can. */
    static uint8_t more[2];
    static struct strata_event others[2] = {
        {.name = "filter_a",
         .fields = two_fields,
         .n_fields = 2,
         .state = &more[0],
         .compiled_in = true},
        {.name = "filter_a", .state = &more[1], .compiled_in = true},
    };
    static struct strata_group other = {
        .abi = STRATA_TRACE_ABI, .n_events = 2, .name = "other", .events = others};
    uint64_t five[] = {0, 5};

    strata_group_register(&other);
    expect(
        1,
        "warning: condition 'value == 5', column 1: the event has no argument 'value': 'filter_a' "
        "stays as it was");
    assert_int_equal(more[0], 3);
    assert_int_equal(more[1], 0);
    assert_true(strata_filter_pass(&others[0], five));
    strata_group_unregister(&other);
    strata_event_set_state("*", false);
    strata_trace_set_message(NULL, NULL);
}

/* Conditions change while others emit, and a handler interrupts: a call is judged by one of those that
 * were in force, so no value passes that none of them lets through. */
static atomic_bool stop;
static atomic_uint wrong;

static void emit_some(void)
{
    for (int64_t value = 0; value < 1000; value++)
        if (passes(0, value) && value < 500)
            atomic_fetch_add(&wrong, 1);
}

static void on_signal(int number)
{
    emit_some();
}

static void *emit(void *userdata)
{
    while (!atomic_load(&stop))
        emit_some();
    return NULL;
}

static void test_changes(void **state)
{
    static const char *const conditions[] = {"value >= 500", "value > 999", "value * 2 == 1200",
                                             "value / 500 == 1 && value % 500 > 3"};
    pthread_t threads[3];

    signal(SIGUSR1, on_signal);
    assert_int_equal(strata_event_set_filter("filter_a", conditions[0]), 1);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit, NULL), 0);
    for (unsigned i = 0; i < 3000; i++) {
        char text[64];

        if (i % 3 == 0)
            strata_event_set_state("filter_a", false);
        snprintf(text, sizeof(text), "value > %u", 500 + i);
        assert_int_equal(strata_event_set_filter("filter_a", i % 2 ? text : conditions[i / 2 % 4]),
                         1);
        if (i % 100 == 0)
            pthread_kill(threads[i / 100 % 3], SIGUSR1);
    }
    /* From off to on under a condition: not for a moment without it. */
    for (unsigned i = 0; i < 200000; i++) {
        strata_event_set_state("filter_a", false);
        assert_int_equal(strata_event_set_filter("filter_a", conditions[0]), 1);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
}

/* There is an end to what is kept. */
static void test_too_many(void **state)
{
    char text[3000];
    unsigned i;

    strata_trace_set_message(listen, NULL);
    n_said = 0;
    for (i = 0; i < 100000; i++) {
        memset(text, ' ', sizeof(text));
        snprintf(text + sizeof(text) - 32, 32, "value == %u", i);
        if (strata_event_set_filter("filter_a", text) < 0)
            break;
    }
    assert_in_range(i, 1000, 2000);
    assert_int_equal(n_said, 1);
    assert_non_null(strstr(said, "too many different conditions"));
    assert_true(strlen(said) < 400);
    snprintf(text, sizeof(text), "value > 1 && %*s", 1000, "value > ( + value");
    assert_int_equal(strata_event_set_filter("filter_a", text), -EINVAL);
    assert_non_null(strstr(said, "value > ( + value'"));
    /* What it had holds, and what there was before can be had again. */
    assert_true(passes(0, i - 1) && !passes(0, i));
    assert_int_equal(strata_event_set_filter("filter_a", "value == 5"), 1);
    assert_true(passes(0, 5) && !passes(0, i - 1));
    strata_event_set_state("*", false);
    strata_group_unregister(&group);
    strata_trace_set_message(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_warnings), cmocka_unit_test(test_verify),
        cmocka_unit_test(test_events),   cmocka_unit_test(test_changes),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
