/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include "tracedir/machine.h"

static void check_option(const char *value, const char *name)
{
    char buf[16] = "";

    assert_int_equal(machine_name_of_option(value, buf, sizeof buf), name != NULL);
    assert_string_equal(buf, name ? name : "");
}

static void test_option(void **state)
{
    check_option("web7", "web7");
    check_option("web7,process=x", "web7");
    check_option("guest=web7,debug-threads=on", "web7");
    /* At any place, and not what stands beside it. */
    check_option("debug-threads=on,guest=web7", "web7");
    check_option("debug-threads=on", NULL);
    check_option("process=guest=1", NULL);
    /* A comma in a name is doubled. */
    check_option("guest=a,,guest=b,process=x", "a,guest=b");
    check_option("a,,b", "a,b");
    check_option("guest=", NULL);
    check_option("", NULL);
    check_option("guest=0123456789abcdefgh", "0123456789abcde");
    check_option("guest=a,,", "a,");
    check_option("guest=a,", "a");
}

static void check_label(const struct manifest *manifest, unsigned i, const char *label)
{
    char buf[MACHINE_LABEL_SIZE];

    machine_vm_label(manifest, manifest->sources[i].vmm, buf);
    assert_string_equal(buf, label);
}

static void test_label(void **state)
{
    const char *const command[] = {"qemu-system-x86_64", "-name", "guest=web8"};
    struct manifest_vmm vmms[] = {
        {.pid = 7, .name = "web7", .program = "/usr/bin/qemu-system-x86_64"},
        {.pid = 8, .command = command, .n_command = 3},
        {.pid = 9, .program = "/usr/bin/firecracker"},
        {.pid = 10},
    };
    struct manifest_source sources[] = {
        {.name = "a", .layer = "vmm", .vmm = &vmms[0]},
        {.name = "b", .layer = "vmm", .vmm = &vmms[1]},
        {.name = "c", .layer = "vmm", .vmm = &vmms[2]},
        {.name = "d", .layer = "vmm", .vmm = &vmms[3]},
    };
    struct manifest manifest = {.sources = sources, .n_sources = 4};

    check_label(&manifest, 0, "web7");
    check_label(&manifest, 1, "web8"); /* what the recorder did not note */
    check_label(&manifest, 2, "firecracker-9");
    check_label(&manifest, 3, "vm-10");
    /* As after a migration. */
    vmms[1].name = "web7";
    check_label(&manifest, 0, "web7-7");
    check_label(&manifest, 1, "web7-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option),
        cmocka_unit_test(test_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
