/* SPDX-License-Identifier: MIT */
/* watch/confine.h: what a confined process can do, and cannot. */
#include "cmocka_all.h"

#include "trace_dir.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "live/window.h"
#include "watch/confine.h"

/* Runs CHECK in a child that is confined to DIR; what it returned. */
static int run(const struct trace_dir *dir, int (*check)(const struct trace_dir *dir))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct error error = {0};

        _exit(watch_confine(dir->path, &error) < 0 ? 99 : check(dir));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int reads_the_trace(const struct trace_dir *dir)
{
    struct live_window window = {.dir = dir->path, .to = INT64_MAX};
    int r = live_window_open(&window);

    if (r == 0)
        r = live_window_put(&window, NULL, 0);
    r = r < 0 ? 1 : window.n_items == 2 ? 0 : 2;
    live_window_done(&window);
    return r;
}

static int writes(const struct trace_dir *dir)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "%s/vmm.trace", dir->path);
    if (open(path, O_WRONLY) >= 0)
        return 1;
    snprintf(path, sizeof path, "%s/new", dir->path);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    return fd >= 0 && write(fd, "a", 1) == 1 ? 2 : 0;
}

static int reads_others(const struct trace_dir *dir)
{
    return open("/etc/passwd", O_RDONLY) >= 0 || open("/etc/shadow", O_RDONLY) >= 0;
}

static int runs_others(const struct trace_dir *dir)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        execl("/bin/true", "true", NULL);
        _exit(50);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) != 50;
}

/* The permitted capabilities of a child that is confined to DIR. It cannot ask for them itself. */
static uint64_t capabilities(const struct trace_dir *dir)
{
    unsigned long long permitted = ~0ull;
    char path[64], line[256], byte = 0;
    int up[2], down[2];
    FILE *status;
    pid_t pid;

    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid = fork();
    if (pid == 0) {
        struct error error = {0};

        close(down[1]);
        if (watch_confine(dir->path, &error) < 0 || write(up[1], &byte, 1) != 1)
            _exit(1);
        _exit(read(down[0], &byte, 1) != 0);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    status = fopen(path, "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status))
        (void)sscanf(line, "CapPrm: %llx", &permitted); /* NOLINT(cert-err34-c) */
    fclose(status);
    for (unsigned i = 0; i < 2; i++) {
        close(up[i]);
        close(down[i]);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return permitted;
}

/* What looks for leaks in a sanitized program needs clone(), which is allowed there. */
static bool forks(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return false;
#else
    return fork() >= 0;
#endif
}

/* Calls that reading does not need. */
static int calls_others(const struct trace_dir *dir)
{
    return (socket(AF_INET, SOCK_STREAM, 0) >= 0) + 2 * forks() + 4 * (kill(getppid(), 0) >= 0) +
           8 * (unlink(dir->path) < 0 && errno != ENOSYS) +
           16 * (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                 MAP_FAILED) +
           32 * (ptrace(PTRACE_TRACEME, 0, NULL, NULL) >= 0) +
           64 * (socket(AF_UNIX, SOCK_STREAM, 0) < 0);
}

static bool has_seccomp(void)
{
    return prctl(PR_GET_SECCOMP) >= 0;
}

static bool has_landlock(void)
{
#if defined(SYS_landlock_create_ruleset)
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u) > 0;
#else
    return false;
#endif
}

static void it_reads_and_does_nothing_else(void **state)
{
    struct trace_dir dir;

    trace_dir_make(&dir);
    trace_dir_put(&dir, 10, 1);
    trace_dir_put(&dir, 20, 2);
    assert_int_equal(run(&dir, reads_the_trace), 0);
    if (has_landlock()) {
        assert_int_equal(run(&dir, writes), 0);
        assert_int_equal(run(&dir, reads_others), 0);
        assert_int_equal(run(&dir, runs_others), 0);
    } else {
        print_message("SKIPPED in part: this kernel has no landlock\n");
    }
    assert_int_equal(capabilities(&dir) & ~(UINT64_C(1) << CAP_DAC_READ_SEARCH), 0);
    if (has_seccomp())
        assert_int_equal(run(&dir, calls_others), 0);
    trace_dir_remove(&dir);
}

static void a_directory_that_is_not_there(void **state)
{
    struct trace_dir dir = {.path = "/nonexistent"};

    if (has_landlock())
        assert_int_equal(run(&dir, reads_others), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reads_and_does_nothing_else),
        cmocka_unit_test(a_directory_that_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
