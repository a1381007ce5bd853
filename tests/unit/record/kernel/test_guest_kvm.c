/* SPDX-License-Identifier: MIT */
/* A guest's clock by KVM's values: record/kernel/guest_kvm.h on directories in the form of the kernel's, and
 * record/kernel/guest_clock.h, which uses the values only while message exchanges agree with them. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "record/kernel/guest_clock.h"
#include "tracedir/host.h"

static char root[64];

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

static int rename_machine(const char *from, const char *to)
{
    char a[256], b[256];

    snprintf(a, sizeof a, "%s/%s", root, from);
    snprintf(b, sizeof b, "%s/%s", root, to);
    return rename(a, b);
}

static int find_and_read(pid_t pid, struct guest_tsc *ret)
{
    _cleanup_free_ char *path = NULL;
    struct error error = {0};
    int r = guest_kvm_find(root, pid, &path, &error);

    if (r >= 0)
        r = guest_kvm_read(path, ret, &error);
    if (r < 0)
        assert_string_not_equal(error.what, "");
    return r;
}

static void the_machine_of_a_process_is_found(void **state)
{
    struct guest_tsc tsc;

    (void)state;
    assert_int_equal(find_and_read(100, &tsc), -ENOENT);
    put("1000-11", "vcpu0", "tsc-offset", "5\n");
    put("10-11", "vcpu0", "tsc-offset", "6\n");
    assert_int_equal(find_and_read(100, &tsc), -ENOENT);
    put("100-11", "vcpu0", "tsc-offset", "-7\n");
    put("100-11", "vcpu0", "pid", "101\n");
    put("100-stat", "vcpu0", "tsc-offset", "8\n");
    assert_int_equal(find_and_read(100, &tsc), 0);
    assert_int_equal(tsc.offset, -7);
    /* A processor that does not scale has no more files. */
    assert_int_equal(guest_tsc_of(&tsc, 1000), 993);
    put("100-12", "vcpu0", "tsc-offset", "9\n");
    assert_int_equal(find_and_read(100, &tsc), -ENOTUNIQ);
}

/* Runs until its standard input, RET_FD, is closed. */
static pid_t start_with(const char *word, int *ret_fd)
{
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fds[0], 0);
        close(fds[1]);
        execl("/bin/sh", "sh", "-c", "read line", "vmm", "-device", word, NULL);
        _exit(127);
    }
    close(fds[0]);
    *ret_fd = fds[1];
    return pid;
}

static void the_machine_of_a_cid_is_found(void **state)
{
    static const char *const words[] = {
        "vhost-vsock-pci,guest-cid=4242",
        "vhost-vsock-pci,guest-cid=4242,id=v",
        "{\"driver\": \"vhost-vsock-pci\", \"guest-cid\": 4242}",
        "vhost-vsock-pci,guest-cid=0x1092",
    };

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
        char machine[32], gone[32];
        int fd;
        pid_t pid = start_with(words[i], &fd);

        assert_int_equal(guest_kvm_find_cid(root, 4242), 0);
        snprintf(machine, sizeof machine, "%d-12", (int)pid);
        snprintf(gone, sizeof gone, "gone-%d", (int)pid);
        put(machine, "vcpu0", "tsc-offset", "1\n");
        /* The process has its command line once it has executed the shell. */
        while (guest_kvm_find_cid(root, 4242) == 0)
            usleep(1000);
        assert_int_equal(guest_kvm_find_cid(root, 4242), pid);
        assert_int_equal(guest_kvm_find_cid(root, 424), 0);
        assert_int_equal(guest_kvm_find_cid(root, 42420), 0);
        assert_int_equal(rename_machine(machine, gone), 0);
        close(fd);
        waitpid(pid, NULL, 0);
    }
}

static void *be_a_thread(void *name)
{
    struct guest_tsc tsc;

    snprintf(name, 32, "%d-21", (int)gettid());
    put(name, "vcpu0", "tsc-offset", "9\n");
    assert_int_equal(find_and_read(getpid(), &tsc), 0);
    assert_int_equal(tsc.offset, 9);
    return NULL;
}

/* cloud-hypervisor makes its machine in another thread than its first. */
static void the_machine_of_a_thread_is_that_of_its_process(void **state)
{
    struct guest_tsc tsc;
    pthread_t thread;
    char name[32], vanished[40];

    (void)state;
    assert_int_equal(find_and_read(getpid(), &tsc), -ENOENT);
    assert_int_equal(pthread_create(&thread, NULL, be_a_thread, name), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    snprintf(vanished, sizeof vanished, "x%s", name);
    assert_int_equal(rename_machine(name, vanished), 0);
}

static void each_vcpu_has_to_say_the_same(void **state)
{
    struct guest_tsc tsc;

    (void)state;
    put("200-11", "vcpu0", "tsc-offset", "-123456789012345\n");
    put("200-11", "vcpu10", "tsc-offset", "-123456789012345\n");
    assert_int_equal(find_and_read(200, &tsc), 0);
    put("200-11", "vcpu10", "tsc-offset", "-123456789012344\n");
    assert_int_equal(find_and_read(200, &tsc), -ENOTUNIQ);
    put("200-11", "vcpu10", "tsc-offset", "-123456789012345\n");
    put("200-11", "vcpu10", "tsc-scaling-ratio", "3\n");
    put("200-11", "vcpu10", "tsc-scaling-ratio-frac-bits", "1\n");
    assert_int_equal(find_and_read(200, &tsc), -ENOTUNIQ);
}

static void what_is_no_number_is_refused(void **state)
{
    struct guest_tsc tsc;

    (void)state;
    put("300-1", "vcpu0", "tsc-offset", "many\n");
    assert_int_equal(find_and_read(300, &tsc), -EBADMSG);
    put("300-1", "vcpu0", "tsc-offset", "");
    assert_int_equal(find_and_read(300, &tsc), -EBADMSG);
    put("300-1", "vcpu0", "tsc-offset", "1\n");
    put("300-1", "vcpu0", "tsc-scaling-ratio", "-1\n");
    assert_int_equal(find_and_read(300, &tsc), -EBADMSG);
    put("300-1", "vcpu0", "tsc-scaling-ratio", "0\n");
    put("300-1", "vcpu0", "tsc-scaling-ratio-frac-bits", "48\n");
    assert_int_equal(find_and_read(300, &tsc), -EBADMSG);
    put("300-1", "vcpu0", "tsc-scaling-ratio", "1\n");
    put("300-1", "vcpu0", "tsc-scaling-ratio-frac-bits", "64\n");
    assert_int_equal(find_and_read(300, &tsc), -EBADMSG);
}

static void scaling_loses_nothing(void **state)
{
    struct guest_tsc tsc;

    (void)state;
    /* Intel: 48 bits behind the point; half as fast again, and 1000 ticks on. */
    put("400-1", "vcpu0", "tsc-offset", "1000\n");
    put("400-1", "vcpu0", "tsc-scaling-ratio", "422212465065984\n");
    put("400-1", "vcpu0", "tsc-scaling-ratio-frac-bits", "48\n");
    assert_int_equal(find_and_read(400, &tsc), 0);
    assert_true(guest_tsc_of(&tsc, 0) == 1000);
    assert_true(guest_tsc_of(&tsc, 3) == 1004);
    assert_true(guest_tsc_of(&tsc, UINT64_C(4000000000000000000)) == UINT64_C(6000000000000001000));
    /* AMD: 32. A third: (2^32 + 1) / 3, so that 3 * 2^32 more ticks are 2^32 + 1. */
    put("401-1", "vcpu0", "tsc-offset", "-1\n");
    put("401-1", "vcpu0", "tsc-scaling-ratio", "1431655766\n");
    put("401-1", "vcpu0", "tsc-scaling-ratio-frac-bits", "32\n");
    assert_int_equal(find_and_read(401, &tsc), 0);
    assert_true(guest_tsc_of(&tsc, UINT64_C(3) << 32) == UINT64_C(4294967298) - 1);
}

/* Guests' clocks. */

static struct guest_pair kept[16];
static unsigned n_kept;

static int keep(struct guest *guest, const struct guest_pair *pair)
{
    guest->boots[0].n_pairs++;
    kept[n_kept++] = *pair;
    return 0;
}

static struct guest make_guest(struct guest_boot *boot, pid_t peer)
{
    struct guest guest = {.boots = boot, .n_boots = 1, .peer = peer};

    *boot = (struct guest_boot){.clock = "x86-tsc"};
    guest.config.kvm_root = root;
    n_kept = 0;
    return guest;
}

/* What an exchange with a guest of that TSC finds now, wrong by OFF ticks. */
static struct guest_pair exchange(const struct guest_tsc *tsc, int64_t off)
{
    struct guest_pair pair;

    assert_int_equal(guest_kvm_pair(tsc, &pair), 0);
    pair.guest += (uint64_t)off;
    pair.error_ns = 50000;
    return pair;
}

static void exchanges_confirm_kvm(void **state)
{
    const struct guest_tsc tsc = {.offset = 5000000, .ratio = 1};
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 500);
    char what[200];

    (void)state;
    if (host_moment().tsc == 0)
        skip();
    put("500-1", "vcpu0", "tsc-offset", "5000000\n");
    guest_clock_begin(&guest, what, sizeof what);
    assert_string_equal(what, "");
    assert_true(boot.by_kvm);
    for (int i = 0; i < 3; i++) {
        struct guest_pair pair;

        usleep(2000);
        pair = exchange(&tsc, 0);
        usleep(2000);
        assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
        assert_string_equal(what, "");
    }
    /* That of its beginning, and one for each exchange; and as exact as reading two clocks is. */
    assert_int_equal(n_kept, 4);
    for (unsigned i = 1; i < n_kept; i++) {
        assert_true(kept[i].host_ns > kept[i - 1].host_ns);
        assert_true(kept[i].guest > kept[i - 1].guest);
        assert_true(kept[i].error_ns != 50000);
    }
    assert_true(boot.by_kvm);

    guest_clock_done(&guest);
}

/* Between exchanges, and not before the first one. */
static void kvm_is_read_between_exchanges(void **state)
{
    const struct guest_tsc tsc = {.offset = 5000000, .ratio = 1};
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 510);
    struct guest_pair pair;
    char what[200];
    uint64_t due;

    (void)state;
    if (host_moment().tsc == 0)
        skip();
    put("510-1", "vcpu0", "tsc-offset", "5000000\n");
    assert_true(guest_clock_due(&guest) == UINT64_MAX);
    guest_clock_begin(&guest, what, sizeof what);
    assert_true(guest_clock_due(&guest) == UINT64_MAX);
    usleep(2000);
    pair = exchange(&tsc, 0);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    assert_int_equal(n_kept, 2);
    due = guest_clock_due(&guest);
    assert_true(due > kept[1].host_ns && due <= kept[1].host_ns + GUEST_CLOCK_INTERVAL_NS);
    assert_int_equal(guest_clock_step(&guest, due - 1, keep, what, sizeof what), 0);
    assert_int_equal(n_kept, 2);
    usleep(2000);
    assert_int_equal(guest_clock_step(&guest, due, keep, what, sizeof what), 0);
    assert_int_equal(n_kept, 3);
    assert_true(kept[2].host_ns > kept[1].host_ns && kept[2].guest > kept[1].guest);
    assert_true(guest_clock_due(&guest) > due);
    /* The virtual machine has ended: nothing is wrong. */
    assert_int_equal(rename_machine("510-1", "gone"), 0);
    assert_int_equal(guest_clock_step(&guest, guest_clock_due(&guest), keep, what, sizeof what), 0);
    assert_string_equal(what, "");
    assert_int_equal(n_kept, 3);
    assert_true(boot.by_kvm);
    guest_clock_done(&guest);
}

/* Pairs of the new values follow, once an exchange has confirmed them. */
static void a_counter_is_set(void **state)
{
    const struct guest_tsc old = {.offset = 5000000, .ratio = 1};
    const struct guest_tsc new = {.offset = -6000000, .ratio = 1};
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 520);
    struct guest_pair pair, late;
    char what[200];

    (void)state;
    if (host_moment().tsc == 0)
        skip();
    put("520-1", "vcpu0", "tsc-offset", "5000000\n");
    guest_clock_begin(&guest, what, sizeof what);
    usleep(2000);
    pair = exchange(&old, 0);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    usleep(2000);
    late = exchange(&old, 0);
    put("520-1", "vcpu0", "tsc-offset", "-6000000\n");
    assert_int_equal(guest_clock_step(&guest, guest_clock_due(&guest), keep, what, sizeof what), 0);
    assert_non_null(strstr(what, "was set"));
    assert_int_equal(n_kept, 2);
    assert_true(guest_clock_due(&guest) == UINT64_MAX);
    /* One of before comes late. */
    assert_int_equal(guest_clock_pair(&guest, &late, keep, what, sizeof what), 0);
    assert_string_equal(what, "");
    assert_int_equal(n_kept, 2);
    usleep(2000);
    pair = exchange(&new, 0);
    usleep(2000);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    assert_string_equal(what, "");
    assert_int_equal(n_kept, 4);
    assert_true(kept[2].host_ns > kept[1].host_ns && kept[3].host_ns > kept[2].host_ns);
    assert_true(kept[3].guest > kept[2].guest);
    assert_true(boot.by_kvm);
    guest_clock_done(&guest);
}

static void counters_that_differ_are_not_used(void **state)
{
    const struct guest_tsc tsc = {.offset = 5000000, .ratio = 1};
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 530);
    struct guest_pair pair;
    char what[200];

    (void)state;
    if (host_moment().tsc == 0)
        skip();
    put("530-1", "vcpu0", "tsc-offset", "5000000\n");
    put("530-1", "vcpu1", "tsc-offset", "5000000\n");
    guest_clock_begin(&guest, what, sizeof what);
    usleep(2000);
    pair = exchange(&tsc, 0);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    put("530-1", "vcpu1", "tsc-offset", "7\n");
    /* It is reported once. */
    for (unsigned i = 0; i < 2; i++) {
        usleep(2000);
        pair = exchange(&tsc, 0);
        assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
        if (i == 0)
            assert_non_null(strstr(what, "its vCPUs differ"));
        else
            assert_string_equal(what, "");
        assert_int_equal(n_kept, 3 + i);
        assert_int_equal(kept[2 + i].guest, pair.guest);
    }
    assert_false(boot.by_kvm);
    put("530-1", "vcpu1", "tsc-offset", "5000000\n");
    usleep(2000);
    pair = exchange(&tsc, 0);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    assert_true(kept[n_kept - 1].guest != pair.guest);
    guest_clock_done(&guest);
}

/* An exchange from before the values were read says nothing of them. Where they turn out to be another machine's, it counts
 * like those after it: a short recording has no more. */
static void an_early_exchange_counts_without_kvm(void **state)
{
    const struct guest_tsc tsc = {.offset = 5000000, .ratio = 1};
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 540);
    struct guest_pair early, pair;
    char what[200];

    (void)state;
    if (host_moment().tsc == 0)
        skip();
    put("540-1", "vcpu0", "tsc-offset", "700000000000\n");
    early = exchange(&tsc, 0);
    usleep(2000);
    guest_clock_begin(&guest, what, sizeof what);
    assert_int_equal(guest_clock_pair(&guest, &early, keep, what, sizeof what), 0);
    assert_int_equal(n_kept, 0);
    usleep(2000);
    pair = exchange(&tsc, 0);
    usleep(2000);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    assert_non_null(strstr(what, "do not match"));
    assert_int_equal(n_kept, 2);
    assert_int_equal(kept[0].guest, early.guest);
    assert_int_equal(kept[1].guest, pair.guest);
    assert_false(boot.by_kvm);
    guest_clock_done(&guest);
}

static void kvm_of_another_machine_is_not_believed(void **state)
{
    const struct guest_tsc tsc = {.offset = 5000000, .ratio = 1};
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 600);
    struct guest_pair pair;
    char what[200];

    (void)state;
    if (host_moment().tsc == 0)
        skip();
    put("600-1", "vcpu0", "tsc-offset", "5000000\n");
    guest_clock_begin(&guest, what, sizeof what);
    usleep(2000);
    pair = exchange(&tsc, 3000000000);
    usleep(2000);
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    assert_non_null(strstr(what, "do not match"));
    assert_int_equal(n_kept, 1);
    assert_int_equal(kept[0].guest, pair.guest);
    assert_false(boot.by_kvm);
    /* It is reported once. */
    assert_int_equal(guest_clock_pair(&guest, &pair, keep, what, sizeof what), 0);
    assert_string_equal(what, "");
    guest_clock_done(&guest);
}

static void other_clocks_are_no_business_of_kvm(void **state)
{
    struct guest_boot boot;
    struct guest guest = make_guest(&boot, 700);
    char what[200];

    (void)state;
    put("700-1", "vcpu0", "tsc-offset", "0\n");
    strcpy(boot.clock, "mono_raw");
    guest_clock_begin(&guest, what, sizeof what);
    assert_null(guest.clock.kvm);
    /* That there is no KVM is reported only if its values were asked for. */
    strcpy(boot.clock, "x86-tsc");
    guest.peer = 701;
    guest_clock_begin(&guest, what, sizeof what);
    assert_string_equal(what, "");
    guest.config.vmm = 702;
    guest_clock_begin(&guest, what, sizeof what);
    assert_non_null(strstr(what, "process 702 has no virtual machine"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_of_a_process_is_found),
        cmocka_unit_test(the_machine_of_a_cid_is_found),
        cmocka_unit_test(the_machine_of_a_thread_is_that_of_its_process),
        cmocka_unit_test(each_vcpu_has_to_say_the_same),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(scaling_loses_nothing),
        cmocka_unit_test(exchanges_confirm_kvm),
        cmocka_unit_test(kvm_is_read_between_exchanges),
        cmocka_unit_test(a_counter_is_set),
        cmocka_unit_test(counters_that_differ_are_not_used),
        cmocka_unit_test(an_early_exchange_counts_without_kvm),
        cmocka_unit_test(kvm_of_another_machine_is_not_believed),
        cmocka_unit_test(other_clocks_are_no_business_of_kvm),
    };
    char command[128];
    int r;

    strcpy(root, "/tmp/test-guest-kvm.XXXXXX");
    if (!mkdtemp(root))
        return 1;
    r = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) != 0 ? 1 : r;
}
