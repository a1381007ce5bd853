/* SPDX-License-Identifier: MIT */
/* Virtual machine monitors by what /proc and KVM show: record/vmm/process.h and threads.h, on made directories of the kernel's
 * form, and on this process. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/remove_dir.h"
#include "cmocka_all.h"
#include "qemu_user.h"
#include "record/vmm/process.h"
#include "record/vmm/threads.h"

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/test-vmm.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return remove_dir_at(AT_FDCWD, root) ? 0 : -1;
}

/* A file of a virtual machine in KVM's directory, by TEXT; the directories are made. */
static void put(const char *machine, const char *vcpu, const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", root, machine);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s", root, machine, vcpu);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s/%s", root, machine, vcpu, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void names_of_threads_say_which_vcpu_they_run(void **state)
{
    static const struct {
        const char *name;
        int vcpu;
    } names[] = {
        {"fc_vcpu 0", 0},     {"fc_vcpu 12", 12}, {"vcpu3", 3},      {"crosvm_vcpu7", 7},
        {"CPU 1/KVM", 1},     {"kvm-vcpu-2", 2},  {"CPU 1/TCG", -1}, {"vcpu", -1},
        {"vcpu-1", -1},       {"vcpu1x", -1},     {"fc_api", -1},    {"fc_vcpu 4096", -1},
        {"vcpu99999999", -1}, {"CPU 1", -1},      {"", -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(vmm_vcpu_of_name(names[i].name), names[i].vcpu);
}

static void descriptors_are_counted(void **state)
{
    static const char *const links[] = {
        "/dev/kvm",
        "anon_inode:kvm-vm",
        "anon_inode:kvm-vm",
        "anon_inode:kvm-vcpu:0",
        "anon_inode:kvm-vcpu:1",
        "anon_inode:kvm-vcpu:1",
        "anon_inode:kvm-vcpu:4096",
        "anon_inode:kvm-vcpu:",
        "anon_inode:kvm-vcpu:1x",
        "anon_inode:kvm-vcpu-stats:0",
        "anon_inode:[eventpoll]",
        "/a/path/that/is/longer/than/any/of/the/links/that/count/and/begins/otherwise",
    };
    unsigned n_vms, n_vcpus;
    char path[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        snprintf(path, sizeof path, "%s/%zu", root, i);
        assert_int_equal(symlink(links[i], path), 0);
    }
    assert_int_equal(vmm_count_fds(root, &n_vms, &n_vcpus), 0);
    assert_int_equal(n_vms, 2);
    assert_int_equal(n_vcpus, 2);
    snprintf(path, sizeof path, "%s/none", root);
    assert_int_equal(vmm_count_fds(path, &n_vms, &n_vcpus), -ENOENT);
}

static const struct vmm_thread *only(const struct vmm_threads *threads)
{
    assert_int_equal(threads->n, 1);
    assert_int_equal(threads->items[0].id, getpid());
    return &threads->items[0];
}

/* What KVM says comes before the name, and stays; this process is its only thread. */
static void kvm_knows_better_than_names(void **state)
{
    struct vmm_threads threads = {0};
    char machine[32], text[32];

    SKIP_BY_QEMU_USER("has threads of its own in /proc/self/task");
    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, "fc_vcpu 3"), 0);
    assert_int_equal(vmm_threads_update(&threads, getpid(), root), 0);
    assert_string_equal(only(&threads)->name, "fc_vcpu 3");
    assert_int_equal(only(&threads)->vcpu, 3);
    assert_false(only(&threads)->is_exact);
    assert_int_equal(vmm_threads_vcpus(&threads), 1);

    /* Another process's; a vCPU that has not run; what is no vCPU. */
    snprintf(text, sizeof text, "%d\n", (int)getpid());
    put("1-5", "vcpu9", "pid", text);
    snprintf(machine, sizeof machine, "%d-11", (int)getpid());
    put(machine, "vcpu1", "pid", "0\n");
    put(machine, "vcpux", "pid", text);
    put(machine, "mmu", "pid", text);
    assert_int_equal(vmm_threads_update(&threads, getpid(), root), 0);
    assert_int_equal(only(&threads)->vcpu, 3);
    assert_int_equal(threads.n_vms, 1);

    put(machine, "vcpu1", "pid", text);
    assert_int_equal(vmm_threads_update(&threads, getpid(), root), 0);
    assert_int_equal(only(&threads)->vcpu, 1);
    assert_true(only(&threads)->is_exact);
    assert_int_equal(prctl(PR_SET_NAME, "vcpu5"), 0);
    assert_int_equal(vmm_threads_update(&threads, getpid(), "/none"), 0);
    assert_int_equal(only(&threads)->vcpu, 1);
    assert_string_equal(only(&threads)->name, "vcpu5");

    snprintf(machine, sizeof machine, "%d-12", (int)getpid());
    put(machine, "vcpu0", "pid", "0\n");
    assert_int_equal(vmm_threads_update(&threads, getpid(), root), 0);
    assert_int_equal(threads.n_vms, 2);

    /* What was known of a process that has ended is kept. */
    assert_int_equal(vmm_threads_update(&threads, 4194305, root), -ENOENT);
    assert_int_equal(only(&threads)->vcpu, 1);
    vmm_threads_done(&threads);
}

static void processes_without_machines_are_refused(void **state)
{
    struct vmm_process process;
    struct error error = {0};

    (void)state;
    assert_int_equal(vmm_process_open(4194305, &process, &error), -ESRCH);
    assert_string_equal(error.what, "no process 4194305");
    error = (struct error){0};
    assert_int_equal(vmm_process_open(getpid(), &process, &error), -ENODEV);
    assert_non_null(strstr(error.what, " has no virtual machine of KVM"));
}

static void a_process_with_a_machine_is_found(void **state)
{
    _cleanup_(closep) int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm = -1, vcpu = -1;
    struct vmm_process process;
    unsigned n_vms, n_vcpus;

    (void)state;
    vm = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
    vcpu = vm < 0 ? -1 : ioctl(vm, KVM_CREATE_VCPU, 0);
    if (vcpu < 0) {
        fprintf(stderr, "test_vmm: SKIPPED in part: no virtual machine of KVM can be made here\n");
        skip();
    }
    assert_int_equal(vmm_process_open(getpid(), &process, NULL), 0);
    assert_non_null(strstr(process.program, "test_vmm"));
    assert_true(process.n_command > 0);
    assert_null(process.command[process.n_command]);
    vmm_process_done(&process);
    assert_int_equal(vmm_count_fds("/proc/self/fd", &n_vms, &n_vcpus), 0);
    assert_int_equal(n_vms, 1);
    assert_int_equal(n_vcpus, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_threads_say_which_vcpu_they_run),
        cmocka_unit_test_setup_teardown(descriptors_are_counted, make_root, remove_root),
        cmocka_unit_test_setup_teardown(kvm_knows_better_than_names, make_root, remove_root),
        cmocka_unit_test(processes_without_machines_are_refused),
        cmocka_unit_test(a_process_with_a_machine_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
