/* SPDX-License-Identifier: MIT */
/* Which event of the kernel a class is: of the kernel's own tracers, and of LTTng. */
#include "cmocka_all.h"

#include <string.h>

#include "base/macro.h"
#include "event/kernel_event.h"

static struct event_class make(enum layer layer, const char *group, const char *name)
{
    static const struct origin host = {.layer = LAYER_HOST}, vmm = {.layer = LAYER_VMM};

    return (struct event_class){
        .name = name, .group = group, .origin = layer == LAYER_HOST ? &host : &vmm};
}

static bool is(const char *group, const char *name, const char *kernels_group,
               const char *kernels_name)
{
    struct event_class class = make(LAYER_HOST, group, name);

    return kernel_event_is(&class, kernels_group, kernels_name);
}

static void test_groups(void **state)
{
    assert_true(is("sched", "sched_switch", "sched", "sched_switch"));
    assert_false(is("mine", "sched_switch", "sched", "sched_switch"));
    assert_false(is("sched", "sched_waking", "sched", "sched_switch"));
    /* A class with a group has the kernel's own names. */
    assert_false(is("irq", "irq_softirq_entry", "irq", "softirq_entry"));
    assert_false(is("kvm", "kvm_x86_exit", "kvm", "kvm_exit"));
}

static void test_no_groups(void **state)
{
    struct event_class vmm = make(LAYER_VMM, NULL, "irq_handler_entry");

    assert_true(is(NULL, "sched_switch", "sched", "sched_switch"));
    assert_true(is(NULL, "irq_softirq_entry", "irq", "softirq_entry"));
    assert_true(is(NULL, "timer_hrtimer_start", "timer", "hrtimer_start"));
    assert_true(is(NULL, "power_cpu_frequency", "power", "cpu_frequency"));
    assert_true(is(NULL, "kvm_x86_exit", "kvm", "kvm_exit"));
    assert_true(is(NULL, "kvm_mmio", "kvm", "kvm_mmio"));
    assert_true(is(NULL, "x86_irq_vectors_local_timer_entry", "irq_vectors", "*_entry"));
    assert_true(is(NULL, "kvm_x86_entry", KERNEL_GUEST_GROUP, KERNEL_GUEST_ENTRY));
    assert_true(is("kvm_hv", "kvm_guest_exit", KERNEL_GUEST_GROUP, KERNEL_GUEST_EXIT));
    assert_false(is("kvm_pr", "kvm_exit", KERNEL_GUEST_GROUP, KERNEL_GUEST_EXIT));
    assert_false(is(NULL, "kvm_x86_exit", "kvm", "kvm_entry"));
    assert_false(is(NULL, "kvm_x86_nested_vmexit", "kvm", "kvm_exit"));
    assert_false(is(NULL, "irq_handler_entry", "irq_vectors", "*_entry"));
    assert_false(is(NULL, "irq", "irq", "softirq_entry"));
    /* It is a kernel's only in a kernel's trace. */
    assert_false(kernel_event_is(&vmm, "irq", "irq_handler_entry"));
}

static void test_fields(void **state)
{
    static const struct field fields[] = {{.name = "parent_tid"}, {.name = "parent_pid"},
                                          {.name = "tid"},        {.name = "valid"},
                                          {.name = "hotid"},      {.name = "next_tid"}};
    struct event_class class = make(LAYER_HOST, NULL, "sched_switch");
    char buf[KERNEL_FIELD_NAME];

    class.fields = fields;
    class.n_fields = ARRAY_SIZE(fields);
    assert_int_equal(kernel_event_field(&class, "next_pid"), 5);
    assert_int_equal(kernel_event_field(&class, "next_tid"), 5);
    assert_int_equal(kernel_event_field(&class, "pid"), 2);
    /* Its own name comes first. */
    assert_int_equal(kernel_event_field(&class, "parent_pid"), 1);
    assert_int_equal(kernel_event_field(&class, "hopid"), -1);
    assert_int_equal(kernel_event_field(&class, "name|valid"), 3);
    assert_int_equal(kernel_event_field(&class, "valid|tid"), 3);
    assert_int_equal(kernel_event_field(&class, NULL), -1);
    assert_string_equal(kernel_event_field_name(&class, &fields[4], buf), "hotid");
    assert_string_equal(kernel_event_field_name(&class, &fields[2], buf), "pid");
    class.group = "sched";
    assert_int_equal(kernel_event_field(&class, "next_pid"), -1);
}

static void test_value_names(void **state)
{
    static const struct field ecx = {.name = "ecx", .type = FIELD_UINT, .size = 4};
    static const struct field rwbs = {.name = "rwbs", .type = FIELD_UINT, .size = 4};
    struct event_class msr = make(LAYER_HOST, NULL, "kvm_x86_msr");
    struct event_class cpuid = make(LAYER_HOST, "kvm", "kvm_cpuid");
    struct event_class issue = make(LAYER_HOST, NULL, "block_rq_issue");
    static const struct field id = {.name = "id", .type = FIELD_INT, .size = 8};
    static const struct origin x86 = {.layer = LAYER_HOST, .machine = "x86_64"};
    static const struct origin arm = {.layer = LAYER_GUEST, .machine = "aarch64"};
    static const struct origin s390 = {.layer = LAYER_HOST, .machine = "s390x"};
    struct event_class call = make(LAYER_HOST, "raw_syscalls", "sys_exit");
    const struct value_names *names = kernel_event_value_names(&msr, &ecx);
    uint64_t last = 0;

    assert_non_null(names);
    assert_string_equal(value_name(names, 0x6e0), "TSC_DEADLINE");
    assert_string_equal(value_name(names, 0x10), "TSC");
    assert_string_equal(value_name(names, 0xc0000080), "EFER");
    assert_null(value_name(names, 0x6e1));
    for (uint32_t i = 0; i < names->n_more; last = names->more[i++].value)
        assert_true(names->more[i].value > last);
    assert_null(kernel_event_value_names(&cpuid, &ecx));
    /* System calls: only if the machine is known. */
    assert_null(kernel_event_value_names(&call, &id));
    call.origin = &x86;
    names = kernel_event_value_names(&call, &id);
    assert_non_null(names);
    assert_string_equal(value_name(names, 231), "exit_group");
    assert_null(value_name(names, 400));
    assert_null(value_name(names, UINT64_MAX));
    call.origin = &arm;
    assert_string_equal(value_name(kernel_event_value_names(&call, &id), 94), "exit_group");
    call.origin = &s390;
    assert_null(kernel_event_value_names(&call, &id));
    assert_null(kernel_event_value_names(&msr, &rwbs));
    assert_non_null(kernel_event_value_names(&issue, &rwbs));
}

static char rwbs_text(const char *text)
{
    static const struct field field = {
        .name = "rwbs", .type = FIELD_STRING, .storage = STORE_NUL_ENDED};
    struct event_class class = make(LAYER_HOST, "block", "block_rq_issue");
    struct item item = {
        .class = &class, .payload = (const uint8_t *)text, .size = (uint32_t)strlen(text) + 1};

    class.fields = &field;
    class.n_fields = 1;
    return kernel_event_rwbs(&item, 0);
}

static char rwbs_bits(uint32_t bits)
{
    static const struct field field = {.name = "rwbs", .type = FIELD_UINT, .size = 4};
    struct event_class class = make(LAYER_HOST, NULL, "block_rq_issue");
    struct item item = {.class = &class, .payload = (const uint8_t *)&bits, .size = sizeof bits};

    class.fields = &field;
    class.n_fields = 1;
    return kernel_event_rwbs(&item, 0);
}

static void test_rwbs(void **state)
{
    assert_int_equal(rwbs_text("RA"), 'R');
    assert_int_equal(rwbs_text("FWFS"), 'W');
    assert_int_equal(rwbs_text("FF"), 'F');
    assert_int_equal(rwbs_text("F"), 'F');
    assert_int_equal(rwbs_text("N"), 'N');
    assert_int_equal(rwbs_text(""), 0);
    assert_int_equal(rwbs_bits(1 << 2 | 1 << 5), 'R');
    assert_int_equal(rwbs_bits(1 << 0 | 1 << 5 | 1 << 10), 'W');
    assert_int_equal(rwbs_bits(1 << 1 | 1 << 7), 'D');
    assert_int_equal(rwbs_bits(1 << 8), 'F');
    assert_int_equal(rwbs_bits(0), 'N');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups), cmocka_unit_test(test_no_groups),
        cmocka_unit_test(test_fields), cmocka_unit_test(test_value_names),
        cmocka_unit_test(test_rwbs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
