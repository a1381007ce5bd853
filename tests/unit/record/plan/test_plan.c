/* SPDX-License-Identifier: MIT */
/* The plan of a recording: what contradicts itself is refused, once and by one message, and what is recorded follows. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/plan/conditions.h"
#include "record/plan/guests.h"
#include "record/plan/kernel.h"

/* Checks that PLAN is refused with MESSAGE; NULL: that it is not. WORDS: operands, then "--" and a command, NULL-ended. */
static void check(struct record_plan *plan, const char *message, const char *const *words)
{
    static char *all[8];
    struct error error = {0};
    int n = 0, n_all = 0, n_command = -1;
    int r;

    for (; *words; words++) {
        if (strcmp(*words, "--") == 0) {
            n = n_all;
            n_command = 0;
            continue;
        }
        all[n_all++] = (char *)(uintptr_t)*words;
        n_command += n_command >= 0;
    }
    all[n_all] = NULL;
    r = record_plan_make(plan, all, n_command >= 0 ? n : n_all, n_command, &error);
    if (message)
        assert_string_equal(error.what, message);
    else
        assert_string_equal(error.what, "");
    assert_int_equal(r, message ? -RECORD_MISUSE : 0);
}

/* A recorder that the options may ask for. */
static unsigned count(const void *options)
{
    return *(const bool *)options;
}

static const struct recorder_type xen_type = {
    .option = "--xen",
    .count = count,
    .layers = 1u << LAYER_HYPERVISOR,
    .min_free = 64 << 20,
};
static const struct recorder_type program_type = {
    .option = "--percpu",
    .count = count,
    .layers = 1u << LAYER_PROGRAM,
};
static bool has_xen, has_program;
static const struct plan_recorder recorders[] = {
    {&xen_type, &has_xen},
    {&program_type, &has_program},
    {NULL},
};

static int reset(void **state)
{
    (void)state;
    has_xen = has_program = false;
    return 0;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void test_kinds(void **state)
{
    struct record_plan command = RECORD_PLAN_DEFAULT, attached = RECORD_PLAN_DEFAULT,
                       domain = RECORD_PLAN_DEFAULT, host = RECORD_PLAN_DEFAULT;

    check(&command, NULL, WORDS("--", "true", "x"));
    assert_int_equal(command.kind, RECORD_COMMAND);
    assert_string_equal(command.words[command.n], "true");
    attached.attach = true;
    check(&attached, NULL, WORDS("4711"));
    assert_int_equal(attached.kind, RECORD_ATTACHED);
    assert_int_equal(strings_add(&domain.domains, "web"), 0);
    check(&domain, NULL, WORDS());
    assert_int_equal(domain.kind, RECORD_LIBVIRT);
    host.host = true;
    host.output = "x";
    check(&host, NULL, WORDS());
    assert_int_equal(host.kind, RECORD_BESIDE);
    record_plan_done(&domain);
}

static void test_contradictions(void **state)
{
    struct {
        const char *message;
        const char *word;
        bool attach, xen, live, host;
        const char *output, *libvirt;
    } cases[] = {
        {"'-- COMMAND', --attach, --libvirt, --xen, --percpu, --guest=ENDPOINT or --host is "
         "required",
         NULL},
        {"--output=DIR is required", NULL, .host = true},
        {"unknown argument 'true'; put '--' before the command: strata record -- true", "true"},
        {"unknown argument '1'; --xen accepts no PID", "1", .xen = true, .output = "x"},
        {"--attach requires a PID or the socket of a QMP monitor", NULL, .attach = true},
        {"--libvirt excludes 4711", "4711", .libvirt = "web"},
        {"--live prints the events of guests and of the kernel of the host; leave it out, or "
         "record "
         "these alone",
         "4711", .attach = true, .live = true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_plan plan = RECORD_PLAN_DEFAULT;

        plan.attach = cases[i].attach;
        plan.recorders = recorders;
        has_xen = cases[i].xen;
        plan.live.on = cases[i].live;
        plan.host = cases[i].host;
        plan.output = cases[i].output;
        if (cases[i].libvirt)
            assert_int_equal(strings_add(&plan.domains, cases[i].libvirt), 0);
        check(&plan, cases[i].message, cases[i].word ? WORDS(cases[i].word) : WORDS());
        record_plan_done(&plan);
    }
}

/* What is kept loses its beginning, and may be of any length. */
static void test_limits(void **state)
{
    struct record_plan plan = RECORD_PLAN_DEFAULT;
    char text[RECORD_PLAN_LIMIT_MAX];

    plan.max_size = 4096;
    assert_int_equal(record_plan_max_size(&plan), 4096);
    assert_int_equal(record_plan_min_free(&plan), 0);
    plan.recorders = recorders;
    has_xen = true;
    assert_int_equal(record_plan_min_free(&plan), 64 << 20);
    plan.min_free = 0;
    assert_int_equal(record_plan_min_free(&plan), 0);
    plan.flight = (struct retention_limit){.ns = UINT64_C(90000000000), .bytes = 3 << 20};
    assert_true(record_plan_max_size(&plan) > UINT64_C(1) << 50);
    assert_true(record_plan_may_hold(&plan));
    assert_string_equal(record_plan_limit_text(&plan.flight, text), "90s,3M");
    plan.flight = (struct retention_limit){.ns = UINT64_C(5000000000), .bytes = 1 << 20};
    assert_false(record_plan_may_hold(&plan));
}

/* --event without a layer is of QEMU or the program where there is one, else of the kernels. */
static void test_guest_events(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        struct record_plan plan = RECORD_PLAN_DEFAULT;
        struct plan_guest_list *list;
        struct error error = {0};
        unsigned n_usual;
        const char *const *usual = plan_kernel_usual(false, &n_usual);
        const struct trace_config *trace;

        plan.output = "x";
        assert_int_equal(strings_add(&plan.events, "blk_*"), 0);
        assert_int_equal(strings_add(&plan.guests.words, "a=/run/a"), 0);
        if (i == 1)
            assert_int_equal(strings_add(&plan.domains, "web"), 0);
        check(&plan, NULL, i == 2 ? WORDS("--", "true") : WORDS());
        assert_int_equal(plan_guest_list_new(&plan, 0, &list, &error), 0);
        assert_int_equal(plan_guest_list_n(list), 1);
        assert_string_equal(list->configs[0].name, "a");
        trace = list->configs[0].trace;
        assert_int_equal(trace->n_events, i == 0 ? 1 : n_usual);
        assert_string_equal(trace->events[0].event, i == 0 ? "blk_*" : usual[0]);
        plan_guest_list_free(list);
        record_plan_done(&plan);
    }
}

/* The patterns of LIST with their conditions, as --event has them. */
static void has_events(const struct plan_event_list *list, const char *expected)
{
    char text[256] = "";

    for (unsigned i = 0; i < list->patterns.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s{%s}", i ? "," : "",
                 list->patterns.items[i], list->conditions.items[i]);
    assert_string_equal(text, expected);
}

/* Each event is of the layer that it names, and that is recorded; others are of what the recording is about. */
static void test_layers(void **state)
{
    struct record_plan plan = RECORD_PLAN_DEFAULT, kernels = RECORD_PLAN_DEFAULT;

    plan.output = "x";
    plan.recorders = recorders;
    has_xen = true;
    assert_int_equal(strings_add(&plan.events, "vmm:blk_*,guest:irq:*{irq > 8, or}"), 0);
    assert_int_equal(strings_add(&plan.events, "host:sched:sched_switch"), 0);
    assert_int_equal(strings_add(&plan.events, "hypervisor:sched,guest:sched:*"), 0);
    check(&plan, NULL, WORDS("--", "qemu-system-x86_64"));
    has_events(&plan.chosen.process, "blk_*{}");
    has_events(&plan.chosen.guest, "irq:*{irq > 8, or},sched:*{}");
    has_events(&plan.chosen.host, "sched:sched_switch{}");
    has_events(&plan.chosen.buffers, "sched{}");
    assert_true(plan.host && plan.guest);
    record_plan_done(&plan);

    kernels.output = "x";
    kernels.host = true;
    assert_int_equal(strings_add(&kernels.guests.words, "a=/run/a"), 0);
    assert_int_equal(strings_add(&kernels.events, "sched:*"), 0);
    check(&kernels, NULL, WORDS());
    has_events(&kernels.chosen.guest, "sched:*{}");
    has_events(&kernels.chosen.host, "sched:*{}");
    record_plan_done(&kernels);
}

static void test_wrong_events(void **state)
{
    static const struct {
        const char *event, *message;
        bool has_program, xen;
    } cases[] = {
        {"a,,b", "--event='a,,b' has an empty element between its commas", true},
        {"a,", "--event='a,' has an empty element between its commas", true},
        {"", "--event='' has an empty element between its commas", true},
        {"host:", "--event='host:': names no event", true},
        {"a{b", "--event='a{b': the '}' of the condition is missing", true},
        {"a{b}c", "--event='a{b}c': 'c' follows the condition", true},
        {"a{}", "--event='a{}': the condition is empty", true},
        {"a{b;c}", "--event='a{b;c}': a condition for a program has no ';'; write \\x3b", true},
        {"hypervisor:sched", "--event='hypervisor:sched' requires --xen", true},
        {"vmm:a", "--event='vmm:a' requires '-- COMMAND', --attach or --libvirt", false, true},
        {"a{b}", "--event='a{b}': events of these buffers have no conditions", false, true},
        {"a", "--event='a' does not say whose events: put vmm:, program: or hypervisor: before it",
         true, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_plan plan = RECORD_PLAN_DEFAULT;

        plan.output = "x";
        plan.recorders = recorders;
        has_xen = cases[i].xen;
        assert_int_equal(strings_add(&plan.events, cases[i].event), 0);
        check(&plan, cases[i].message, cases[i].has_program ? WORDS("--", "true") : WORDS());
        record_plan_done(&plan);
    }
}

/* Without a process, "program:" means the buffers of a program. */
static void test_buffers_of_program(void **state)
{
    struct record_plan plan = RECORD_PLAN_DEFAULT;

    plan.output = "x";
    plan.recorders = recorders;
    has_program = true;
    assert_int_equal(strings_add(&plan.events, "program:a,b"), 0);
    check(&plan, NULL, WORDS());
    has_events(&plan.chosen.buffers, "a{},b{}");
    record_plan_done(&plan);
}

static void test_guest_names(void **state)
{
    static const struct {
        const char *first, *second, *message;
    } cases[] = {
        {"/run/a", "/run/b", NULL},
        {"a=/run/a", "a=/run/b", "two guests are called a; give them names: NAME=/run/b"},
        {"a=/run/a", "tcp:[::1]:4727", "guests at TCP and vsock addresses require --key=FILE"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_plan plan = RECORD_PLAN_DEFAULT;
        struct plan_guest_list *list = NULL;
        struct error error = {0};

        plan.output = "x";
        assert_int_equal(strings_add(&plan.guests.words, cases[i].first), 0);
        assert_int_equal(strings_add(&plan.guests.words, cases[i].second), 0);
        check(&plan, NULL, WORDS());
        assert_int_equal(plan_guest_list_new(&plan, 0, &list, &error),
                         cases[i].message ? -RECORD_MISUSE : 0);
        assert_string_equal(error.what, cases[i].message ? cases[i].message : "");
        if (list)
            assert_string_equal(list->configs[1].name, "guest2");
        plan_guest_list_free(list);
        record_plan_done(&plan);
    }
}

/* Each kind can meet some conditions. */
static void test_conditions(void **state)
{
    static const struct {
        const char *condition;
        bool met[9]; /* by enum record_kind */
    } cases[] = {
        {"lost", {true, true, true, true, true, true}},
        {"exit",
         {[RECORD_ATTACHED] = true,
          [RECORD_LIBVIRT] = true,
          [RECORD_PROGRAM] = true,
          [RECORD_QEMU] = true}},
        {"exit != 0", {[RECORD_PROGRAM] = true, [RECORD_QEMU] = true}},
        {"qmp:STOP", {[RECORD_QEMU] = true, [RECORD_LIBVIRT] = true}},
    };
    static const enum record_kind kinds[] = {RECORD_BESIDE, RECORD_ATTACHED, RECORD_LIBVIRT,
                                             RECORD_PROGRAM, RECORD_QEMU};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_plan plan = RECORD_PLAN_DEFAULT;

        plan.flight.bytes = 1 << 20;
        assert_int_equal(strings_add(&plan.triggers.conditions, cases[i].condition), 0);
        check(&plan, NULL, WORDS("--", "true"));
        assert_int_equal(plan.triggers.needs_events, i == 0);
        assert_string_equal(plan.triggers.triggers[0].text, cases[i].condition);
        for (size_t j = 0; j < ARRAY_SIZE(kinds); j++) {
            struct error error = {0};

            assert_int_equal(plan_conditions_check(&plan, kinds[j], &error),
                             cases[i].met[kinds[j]] ? 0 : -RECORD_MISUSE);
        }
        record_plan_done(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kinds, reset),
        cmocka_unit_test_setup(test_contradictions, reset),
        cmocka_unit_test_setup(test_limits, reset),
        cmocka_unit_test_setup(test_guest_events, reset),
        cmocka_unit_test_setup(test_layers, reset),
        cmocka_unit_test_setup(test_wrong_events, reset),
        cmocka_unit_test_setup(test_guest_names, reset),
        cmocka_unit_test_setup(test_buffers_of_program, reset),
        cmocka_unit_test_setup(test_conditions, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
