/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/exits.h"
#include "base/macro.h"

/* ---- classes whose fields are all numbers of 64 bits, in the order of their names ---- */

#define FIELDS 4

struct made_class {
    struct field fields[FIELDS];
    struct event_class *class;
};

struct world {
    struct catalogue catalogue;
    struct origin *host, *xen, *qemu;
    struct made_class svm, arm64, riscv, s390, s390_entry, power, power_entry, loongarch,
        loongarch_reentry, no_reason, entry, userspace, switches, waking, pio, fault, vmexit,
        nested_vmexit, vmentry, nested_vmentry, to_blocked, to_runnable, to_running, to_offline,
        to_online, run_exit, run;
    struct exits exits;
    struct coverage coverage;
    struct result result;
    int64_t time;
};

static void add(struct world *w, struct made_class *made, struct origin *origin, const char *group,
                const char *name, const char *const *fields)
{
    struct event_class class = {
        .name = name, .group = group, .origin = origin, .fields = made->fields};

    for (; fields && fields[class.n_fields]; class.n_fields++)
        made->fields[class.n_fields] = (struct field){.name = fields[class.n_fields],
                                                      .c_type = "uint64_t",
                                                      .type = FIELD_UINT,
                                                      .offset = 8 * class.n_fields,
                                                      .size = 8};
    assert_int_equal(catalogue_add(&w->catalogue, &class, &made->class), 0);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct origin origin = {
        .layer = LAYER_HOST, .format = "made", .path = "h", .clock = {"monotonic", NANOSECONDS}};

    assert_non_null(w);
    w->host = catalogue_add_origin(&w->catalogue, &origin);
    assert_non_null(w->host);
    origin.layer = LAYER_HYPERVISOR;
    w->xen = catalogue_add_origin(&w->catalogue, &origin);
    assert_non_null(w->xen);
    origin.layer = LAYER_VMM;
    w->qemu = catalogue_add_origin(&w->catalogue, &origin);
    assert_non_null(w->qemu);
    add(w, &w->run_exit, w->qemu, NULL, "kvm_run_exit", NAMES("cpu_index", "reason"));
    add(w, &w->run, w->qemu, NULL, "kvm_vcpu_ioctl", NAMES("cpu_index", "type"));
    add(w, &w->svm, w->host, "kvm", "kvm_exit", NAMES("exit_reason", "isa", "vcpu_id"));
    add(w, &w->arm64, w->host, "kvm", "kvm_exit", NAMES("ret", "esr_ec"));
    add(w, &w->riscv, w->host, "kvm", "kvm_exit", NAMES("sepc", "scause"));
    add(w, &w->s390, w->host, "kvm", "kvm_s390_sie_exit", NAMES("id", "icptcode"));
    add(w, &w->s390_entry, w->host, "kvm", "kvm_s390_sie_enter", NAMES("id"));
    add(w, &w->power, w->host, "kvm_hv", "kvm_guest_exit", NAMES("vcpu_id", "trap"));
    add(w, &w->power_entry, w->host, "kvm_hv", "kvm_guest_enter", NAMES("vcpu_id"));
    add(w, &w->loongarch, w->host, "kvm", "kvm_exit", NAMES("pc", "reason"));
    add(w, &w->loongarch_reentry, w->host, "kvm", "kvm_reenter", NAMES("pc"));
    add(w, &w->no_reason, w->host, "kvm", "kvm_exit", NAMES("vcpu_pc"));
    add(w, &w->entry, w->host, "kvm", "kvm_entry", NULL);
    add(w, &w->userspace, w->host, "kvm", "kvm_userspace_exit", NULL);
    add(w, &w->pio, w->host, "kvm", "kvm_pio", NAMES("rw", "port"));
    add(w, &w->fault, w->host, "kvm", "kvm_page_fault", NAMES("fault_address"));
    add(w, &w->switches, w->host, "sched", "sched_switch",
        NAMES("prev_pid", "prev_state", "next_pid"));
    add(w, &w->waking, w->host, "sched", "sched_waking", NAMES("pid"));
    add(w, &w->vmexit, w->xen, "hvm", "vmexit", NAMES("reason"));
    add(w, &w->nested_vmexit, w->xen, "hvm", "nested_vmexit", NAMES("reason"));
    add(w, &w->vmentry, w->xen, "hvm", "vmentry", NULL);
    add(w, &w->nested_vmentry, w->xen, "hvm", "nested_vmentry", NULL);
    add(w, &w->to_blocked, w->xen, "sched", "running_to_blocked", NAMES("vcpu", "dom"));
    add(w, &w->to_runnable, w->xen, "sched", "blocked_to_runnable", NAMES("vcpu", "dom"));
    add(w, &w->to_running, w->xen, "sched", "runnable_to_running", NAMES("vcpu", "dom"));
    add(w, &w->to_offline, w->xen, "sched", "running_to_offline", NAMES("vcpu", "dom"));
    add(w, &w->to_online, w->xen, "sched", "offline_to_runnable", NAMES("vcpu", "dom"));
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    catalogue_done(&w->catalogue);
    free(w);
    return 0;
}

static void start(struct world *w, struct exits_settings settings)
{
    const struct analysis_settings common = {.clock = w->host->clock};

    coverage_init(&w->coverage);
    assert_int_equal(exits_init(&w->exits, &common, &settings, &w->catalogue), 0);
}

/* An event of thread, or vCPU, WHO, 10 ticks after the last. */
static void put(struct world *w, const struct made_class *made, int32_t who, uint64_t a, uint64_t b,
                uint64_t c)
{
    const uint64_t payload[] = {a, b, c};
    const struct item item = {.time = w->time += 10,
                              .origin = made->class->origin,
                              .class = made->class,
                              .payload = (const uint8_t *)payload,
                              .size = sizeof payload,
                              .pid = made->class->origin == w->xen ? PID_UNKNOWN : who,
                              .vcpu = made->class->origin == w->xen ? who : VCPU_UNKNOWN,
                              .kind = ITEM_EVENT};

    assert_int_equal(coverage_put(&w->coverage, &item, 1), 0);
    assert_int_equal(sink_put(&w->exits.analysis.sink, &item, 1), 0);
}

static void lose(struct world *w, struct origin *origin)
{
    const struct item item = {.time = w->time,
                              .origin = origin,
                              .lost = 1,
                              .since = w->time,
                              .cpu = 3,
                              .kind = ITEM_LOSS};

    assert_int_equal(coverage_put(&w->coverage, &item, 1), 0);
    assert_int_equal(sink_put(&w->exits.analysis.sink, &item, 1), 0);
}

static void finish(struct world *w)
{
    assert_int_equal(sink_finish(&w->exits.analysis.sink), 0);
    assert_int_equal(analysis_result(&w->exits.analysis, &w->coverage, &w->result), 0);
}

static void stop(struct world *w)
{
    result_done(&w->result);
    exits_done(&w->exits);
    coverage_done(&w->coverage);
}

static const struct result_row *row_of(const struct world *w, const char *reason,
                                       const char *detail)
{
    for (unsigned i = 0; i < w->result.n_rows; i++)
        if (strcmp(w->result.rows[i]->keys[0], reason) == 0 &&
            (!detail || strcmp(w->result.rows[i]->keys[1], detail) == 0))
            return w->result.rows[i];
    fail_msg("no row %s", reason);
    return NULL;
}

static int64_t value_of(const struct world *w, const struct result_row *row, const char *column)
{
    int i = result_find_column(&w->result, column);

    assert_true(i >= 0 && result_has(row, (unsigned)i));
    return row->values[i].number;
}

static bool is_unknown(const struct world *w, const struct result_row *row, const char *column)
{
    unsigned i = (unsigned)result_find_column(&w->result, column);

    return result_is_unknown(row, i) && !result_has(row, i);
}

/* ---- tests ---- */

static void test_reasons(void **state)
{
    static const char *const names[] = {"io",
                                        "IO_INSTRUCTION",
                                        "7",
                                        "WFx",
                                        "IRQ",
                                        "0x2",
                                        "IRQ_S_TIMER",
                                        "LOAD_GUEST_PAGE_FAULT",
                                        "Wait state",
                                        "0x2c",
                                        "HV_DECREMENTER",
                                        "GSPR",
                                        "unknown"};
    struct world *w = *state;

    start(w, (struct exits_settings){0});
    put(w, &w->svm, 5, 0x7b, EXIT_ISA_SVM, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    /* Above bit 15 are VMX's flags. */
    put(w, &w->svm, 5, 0x8000001e, EXIT_ISA_VMX, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->svm, 5, 7, 9, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->arm64, 5, EXIT_ARM64_TRAP, 1, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->arm64, 5, 0, 1, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->arm64, 5, EXIT_ARM64_TRAP, 0x02, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->riscv, 5, 0, EXIT_RISCV_INTERRUPT | 5, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->riscv, 5, 0, 21, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->s390, 5, 1, 0x1c, 0);
    put(w, &w->s390_entry, 5, 1, 0, 0);
    put(w, &w->s390, 5, 1, 0x2c, 0);
    put(w, &w->s390_entry, 5, 1, 0, 0);
    put(w, &w->power, 5, 1, 0x980, 0);
    put(w, &w->power_entry, 5, 1, 0, 0);
    put(w, &w->loongarch, 5, 0, 22, 0);
    put(w, &w->loongarch_reentry, 5, 0, 0, 0);
    put(w, &w->no_reason, 5, 0, 0, 0);
    put(w, &w->entry, 5, 0, 0, 0);
    finish(w);
    assert_int_equal(w->result.n_rows, ARRAY_SIZE(names));
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(value_of(w, row_of(w, names[i], NULL), "sum"), 10);
    /* No scheduler events: what the thread did is unknown. */
    assert_false(result_has(w->result.rows[0], (unsigned)result_find_column(&w->result, "run")));
    stop(w);
}

static void test_states_and_details(void **state)
{
    struct world *w = *state;
    const struct result_row *row;

    start(w, (struct exits_settings){.detail = true});
    put(w, &w->svm, 5, 0x400, EXIT_ISA_SVM, 0);
    put(w, &w->fault, 5, 0x3000, 0, 0);
    put(w, &w->pio, 6, 1, 0x70, 0); /* of another thread */
    put(w, &w->switches, 5, 5, 1, 9);
    put(w, &w->waking, 9, 5, 0, 0);
    put(w, &w->waking, 9, 5, 0, 0);
    put(w, &w->switches, 9, 9, 0, 5);
    put(w, &w->pio, 5, 1, 0x71, 0);
    put(w, &w->pio, 5, 0, 0x72, 0); /* the first one counts */
    put(w, &w->entry, 5, 0, 0, 0);
    /* The switch that gives it the CPU again is missing. */
    put(w, &w->svm, 5, 0x78, EXIT_ISA_SVM, 0);
    put(w, &w->switches, 5, 5, 0, 9);
    put(w, &w->entry, 5, 0, 0, 0);
    finish(w);
    assert_int_equal(w->result.n_rows, 2);
    row = row_of(w, "npf", "port 0x71 write");
    assert_int_equal(value_of(w, row, "run"), 60);
    assert_int_equal(value_of(w, row, "sleep"), 10);
    assert_int_equal(value_of(w, row, "wait"), 20);
    assert_int_equal(value_of(w, row, "unknown"), 0);
    assert_int_equal(value_of(w, row, "sum"), 90);
    row = row_of(w, "hlt", "-");
    assert_int_equal(value_of(w, row, "run"), 10);
    /* It may have slept or waited: 0 would be wrong. */
    assert_true(is_unknown(w, row, "wait"));
    assert_true(is_unknown(w, row, "sleep"));
    assert_int_equal(value_of(w, row, "unknown"), 10);
    assert_string_equal(w->result.columns[result_find_column(&w->result, "unknown")].title, "?");
    stop(w);
}

/* A monitor that handles hlt: its thread sleeps there until the next interrupt. */
static void test_sleep_in_vmm(void **state)
{
    struct world *w = *state;
    const struct result_row *row;

    start(w, (struct exits_settings){0});
    put(w, &w->svm, 7, 0x78, EXIT_ISA_SVM, 0);
    put(w, &w->userspace, 7, 0, 0, 0);
    put(w, &w->switches, 7, 7, 1, 3);
    w->time += 1000;
    put(w, &w->waking, 3, 7, 0, 0);
    put(w, &w->switches, 3, 3, 1, 7);
    put(w, &w->entry, 7, 0, 0, 0);
    finish(w);
    row = row_of(w, "hlt", NULL);
    assert_int_equal(value_of(w, row, "sum"), 1050);
    assert_int_equal(value_of(w, row, "sleep"), 1010);
    assert_int_equal(value_of(w, row, "vmm"), 1040);
    assert_int_equal(value_of(w, row, "vmm_run"), 20);
    stop(w);
}

/* The rules that strata latency, SQL and timelines have built in pair the same events. */
static void test_one_rule(void **state)
{
    const struct span_builtin *builtin = span_builtins;
    struct arena arena = {0};
    unsigned n = 0;

    (void)state;
    for (; builtin->rule; builtin++) {
        const struct span_rule *rule = &exit_rules[n == 0 ? EXITS_OF_KVM : EXITS_OF_XEN];
        struct span_rule parsed;

        if (strncmp(builtin->rule, "exit: ", 6) != 0)
            continue;
        n++;
        assert_int_equal(span_rule_parse(builtin->rule, NULL, &arena, &parsed, NULL), 0);
        assert_int_equal(parsed.n_steps, rule->n_steps);
        assert_int_equal(parsed.n_keys, rule->n_keys);
        assert_int_equal(parsed.place, rule->place);
        assert_int_equal(parsed.again, rule->again);
        for (unsigned i = 0; i < rule->n_steps; i++) {
            assert_string_equal(parsed.steps[i].event, rule->steps[i].event);
            assert_int_equal(parsed.steps[i].layers, rule->steps[i].layers);
        }
    }
    assert_int_equal(n, 2);
    arena_done(&arena);
}

static void test_handled(void **state)
{
    struct world *w = *state;
    const int32_t d2v1 = 2 << 16 | 1;
    const struct result_row *row;

    start(w, (struct exits_settings){.handled = true});
    put(w, &w->vmexit, d2v1, 120, 0, 0);
    put(w, &w->to_blocked, d2v1, 1, 2, 0);
    put(w, &w->to_runnable, 7, 0, 2, 0); /* of another vCPU */
    put(w, &w->to_runnable, 7, 1, 2, 0);
    put(w, &w->to_running, d2v1, 1, 2, 0);
    put(w, &w->vmentry, d2v1, 0, 0, 0);
    finish(w);
    row = row_of(w, "120", NULL);
    assert_int_equal(value_of(w, row, "sum"), 30);
    assert_int_equal(value_of(w, row, "run"), 10);
    assert_int_equal(value_of(w, row, "sleep"), 20);
    assert_int_equal(value_of(w, row, "wait"), 0);
    stop(w);
}

/* A vCPU that is paused does not sleep. */
static void test_offline(void **state)
{
    struct world *w = *state;
    const int32_t d2v1 = 2 << 16 | 1;
    const struct result_row *row;

    start(w, (struct exits_settings){0});
    put(w, &w->vmexit, d2v1, 120, 0, 0);
    put(w, &w->to_offline, d2v1, 1, 2, 0);
    put(w, &w->to_online, 7, 1, 2, 0);
    put(w, &w->to_running, d2v1, 1, 2, 0);
    put(w, &w->vmentry, d2v1, 0, 0, 0);
    finish(w);
    row = row_of(w, "120", NULL);
    assert_int_equal(value_of(w, row, "sum"), 40);
    assert_int_equal(value_of(w, row, "run"), 20);
    assert_int_equal(value_of(w, row, "wait"), 10);
    assert_int_equal(value_of(w, row, "sleep"), 0);
    assert_int_equal(value_of(w, row, "offline"), 10);
    stop(w);
}

static void test_nested(void **state)
{
    struct world *w = *state;

    start(w, (struct exits_settings){0});
    put(w, &w->nested_vmexit, 1 << 16, 123, 0, 0);
    put(w, &w->vmentry, 1 << 16, 0, 0, 0);
    put(w, &w->vmexit, 1 << 16, 123, 0, 0);
    put(w, &w->nested_vmentry, 1 << 16, 0, 0, 0);
    finish(w);
    assert_int_equal(w->result.n_rows, 2);
    assert_int_equal(value_of(w, row_of(w, "nested 123", NULL), "n"), 1);
    assert_int_equal(value_of(w, row_of(w, "123", NULL), "n"), 1);
    stop(w);
}

/* QEMU's exits count where there are none of KVM. */
static void test_both_layers(void **state)
{
    struct world *w = *state;
    const struct result_row *row;

    for (unsigned has_kvm = 0; has_kvm < 2; has_kvm++) {
        start(w, (struct exits_settings){0});
        for (unsigned i = 0; i < 3; i++) {
            if (has_kvm)
                put(w, &w->svm, 7, 0x7b, 2, 0);
            put(w, &w->run_exit, 7, 0, 2, 0);
            put(w, &w->run, 7, 0, 0xae80, 0);
            if (has_kvm)
                put(w, &w->entry, 7, 0, 0, 0);
        }
        finish(w);
        assert_int_equal(w->result.n_rows, 1);
        row = w->result.rows[0];
        assert_int_equal(value_of(w, row, "n"), 3);
        assert_int_equal(value_of(w, row, "sum"), has_kvm ? 90 : 30);
        stop(w);
    }
}

/* A KVM that only traces the exits that it passes on: a note says so, and does not ask for the host's kernel again. */
static void test_no_kvm_exit(void **state)
{
    struct world *w = *state;

    for (unsigned has_kvm = 0; has_kvm < 2; has_kvm++) {
        start(w, (struct exits_settings){0});
        if (has_kvm)
            put(w, &w->svm, 7, 0x7b, EXIT_ISA_SVM, 0);
        put(w, &w->userspace, 7, 0, 0, 0);
        put(w, &w->run_exit, 7, 0, 2, 0);
        put(w, &w->run, 7, 0, 0xae80, 0);
        put(w, &w->entry, 7, 0, 0, 0);
        finish(w);
        assert_int_equal(w->result.n_rows, 1);
        assert_int_equal(w->result.n_notes, !has_kvm);
        if (!has_kvm)
            assert_non_null(strstr(w->result.notes[0], "but no kvm_exit"));
        stop(w);
    }
}

static void test_incomplete(void **state)
{
    struct world *w = *state;

    start(w, (struct exits_settings){.no_idle = true});
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->svm, 5, 0x7b, EXIT_ISA_SVM, 0);
    lose(w, w->xen); /* of another source */
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->svm, 5, 0x7b, EXIT_ISA_SVM, 0);
    lose(w, w->host);
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->svm, 5, 0x78, EXIT_ISA_SVM, 0); /* idle */
    put(w, &w->entry, 5, 0, 0, 0);
    put(w, &w->svm, 5, 0x7b, EXIT_ISA_SVM, 0);
    put(w, &w->svm, 5, 0x7b, EXIT_ISA_SVM, 0);
    put(w, &w->vmexit, VCPU_UNKNOWN, 1, 0, 0);
    finish(w);
    assert_int_equal(w->result.n_rows, 1);
    assert_int_equal(value_of(w, row_of(w, "io", NULL), "n"), 1);
    /* The end of what may have ended in the loss has a begin. */
    assert_int_equal(w->result.unpaired[SPAN_NO_BEGIN], 1);
    assert_int_equal(w->result.unpaired[SPAN_LOST], 1);
    assert_int_equal(w->result.unpaired[SPAN_AGAIN], 1);
    assert_int_equal(w->result.unpaired[SPAN_OPEN], 1);
    assert_int_equal(w->result.unpaired[SPAN_UNKEYED], 1);
    assert_int_equal(w->result.n_notes, 1);
    stop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
        cmocka_unit_test_setup_teardown(test_states_and_details, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sleep_in_vmm, setup, teardown),
        cmocka_unit_test(test_one_rule),
        cmocka_unit_test_setup_teardown(test_handled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
        cmocka_unit_test_setup_teardown(test_both_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_kvm_exit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_incomplete, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
