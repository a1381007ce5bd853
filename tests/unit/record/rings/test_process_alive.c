/* SPDX-License-Identifier: MIT */
/* Whether a traced process is running, also where no file of /proc can be opened. */

#include "cmocka_all.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "record/rings/process.h"

/* What a process with number PID, which began when this one did, has left. */
static struct process process_of(pid_t pid)
{
    struct process process = {.path = (char *)"rings", .pid = (uint32_t)pid, .program = "program"};
    char state;

    assert_int_equal(proc_stat(getpid(), &process.start, &state), 0);
    /* Of a boot, whose ID is to be read. */
    process.boot_id[0] = 1;
    return process;
}

/* A number that no process has. */
static pid_t ended(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void other_boot(void **state)
{
    const struct process mine = process_of(getpid());

    (void)state;
    assert_false(process_is_of_this_boot(&mine));
    assert_int_equal(process_is_alive(&mine, NULL), 0);
}

static void no_descriptors(void **state)
{
    const struct process mine = process_of(getpid());
    const struct process dead = process_of(ended());
    struct rlimit before, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int mine_alive = process_is_alive(&mine, NULL);
    int dead_alive = process_is_alive(&dead, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(mine_alive, -EMFILE);
    assert_int_equal(dead_alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_boot),
        cmocka_unit_test(no_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
