/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <unistd.h>

#include "base/child.h"

static void test_record(void **state)
{
    const char *record = "4,1667,51829940,-;Out of memory: Killed process 4711 (qemu-system-x86) "
                         "total-vm:1kB";

    assert_true(oom_record_names(record, 4711, INT64_C(51000000000)));
    assert_true(oom_record_names(
        "4,1,51829940,-;Memory cgroup out of memory: Killed process 47 (q) x", 47, 0));
    /* Another process, and one that had its number earlier. */
    assert_false(oom_record_names(record, 471, 0));
    assert_false(oom_record_names(record, 711, 0));
    assert_false(oom_record_names(record, 4711, INT64_C(90000000000)));
    assert_false(oom_record_names("", 4711, 0));
}

static void check_text(struct child child, const char *text)
{
    char buf[CHILD_END_SIZE];

    assert_string_equal(child_end_text(&child, buf, sizeof buf), text);
}

static void test_text(void **state)
{
    check_text((struct child){.status = 0x0100}, "status 1");
    check_text((struct child){.status = 9}, "killed by signal 9 (Killed)");
    check_text((struct child){.status = 9, .oom = OOM_KILLED},
               "killed by signal 9 (Killed): memory was exhausted");
    check_text((struct child){.status = 9, .oom = OOM_MAYBE},
               "killed by signal 9 (Killed), perhaps because memory was exhausted");
    check_text((struct child){.is_status_unknown = true}, "ended");
    check_text((struct child){.is_status_unknown = true, .oom = OOM_KILLED},
               "killed by signal 9 (Killed): memory was exhausted");
}

/* One that a user kills, while the kernel kills nothing. */
static void test_other_end(void **state)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    struct child_how how = {.argv = argv, .in = -1, .out = -1, .err = -1};
    struct error error = {0};
    struct child child;
    char buf[CHILD_END_SIZE];

    assert_int_equal(child_start(&how, &child, &error), 0);
    kill(child.pid, SIGKILL);
    while (!child_wait(&child, 1000000000))
        ;
    if (child.oom == OOM_NOT) /* another process of this machine may have been */
        assert_string_equal(child_end_text(&child, buf, sizeof buf), "killed by signal 9 (Killed)");
    child_done(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_other_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
