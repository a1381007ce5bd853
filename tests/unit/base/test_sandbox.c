/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/macro.h"
#include "base/sandbox.h"

/* What a confined process must not get away with: each returns 0 or more when it does. */

static int open_file(void)
{
    return open("/etc/passwd", O_RDONLY);
}

static int make_file(void)
{
    return open("confined", O_WRONLY | O_CREAT, 0600);
}

static int make_dir(void)
{
    return mkdir("confined", 0700);
}

static int remove_file(void)
{
    return unlink("/nowhere/at/all") < 0 && errno != ENOENT ? -1 : 0;
}

static int make_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int make_process(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    return pid;
}

static int run_program(void)
{
    char path[] = "/bin/true";
    char *const argv[] = {path, NULL};

    return execv(argv[0], argv);
}

static int end_parent(void)
{
    return kill(getppid(), 0);
}

static int become_root(void)
{
    return setuid(0);
}

static int make_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? -1
               : 0;
}

static int change_file(void)
{
    return chmod("/dev/null", 0666);
}

static int enter(const struct sandbox_user *user, uint64_t max_file, unsigned *ret_measures)
{
    const struct sandbox sandbox = {
        .user = user, .max_file = max_file, .max_memory = SANDBOX_ANY_SIZE};

    return sandbox_enter(&sandbox, ret_measures, NULL);
}

/* Does ACT in a confined child. Its status as from waitpid(); its exit status is 0 when it could not,
 * 1 when it could, 2 when it was not confined. */
static int confined(int (*act)(void), unsigned *ret_measures)
{
    struct sandbox_user user = sandbox_user();
    unsigned measures = 0;
    int ends[2], status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (sandbox_descriptors(&ends[1], 1) < 0 || enter(&user, 1000, &measures) < 0)
            _exit(2);
        if (write(ends[1], &measures, sizeof measures) != sizeof measures)
            _exit(2);
        _exit(act && act() >= 0 ? 1 : 0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], ret_measures, sizeof *ret_measures), sizeof *ret_measures);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void nothing_is_left_to_a_confined_process(void **state)
{
    static const struct {
        const char *what;
        int (*act)(void);
    } acts[] = {
        {"open a file", open_file},     {"make a file", make_file},
        {"make a directory", make_dir}, {"remove a file", remove_file},
        {"make a socket", make_socket}, {"make a process", make_process},
        {"run a program", run_program}, {"signal its parent", end_parent},
        {"become root", become_root},   {"make code", make_code},
        {"change a file", change_file},
    };
    unsigned measures;

    assert_int_equal(confined(NULL, &measures), 0);
    if (!(measures & SANDBOX_SECCOMP)) {
        puts("SKIPPED: this kernel has no seccomp filters");
        skip();
    }
    for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
        int status = confined(acts[i].act, &measures);

        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
            continue;
#if defined(__SANITIZE_ADDRESS__)
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue; /* the sanitiser needs the call; something else kept it from working */
#endif
        fail_msg("it could %s (status %#x)", acts[i].what, (unsigned)status);
    }
    if (geteuid() == 0)
        assert_true(measures & SANDBOX_USER);
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        _exit(4);
    close(fd);
}

/* Becomes root of a user namespace that has no other user, as `unshare --map-root-user` does for anybody. */
static void enter_user_namespace(void)
{
    char uids[32], gids[32];

    if (geteuid() == 0 &&
        (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
        _exit(3);
    snprintf(uids, sizeof uids, "0 %u 1", (unsigned)geteuid());
    snprintf(gids, sizeof gids, "0 %u 1", (unsigned)getegid());
    /* With another user, this process is not its own any more. */
    if (prctl(PR_SET_DUMPABLE, 1) < 0 || unshare(CLONE_NEWUSER) < 0)
        _exit(3);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", uids);
    write_text("/proc/self/gid_map", gids);
}

static void root_of_nobody_else_gives_up_its_capabilities(void **state)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
        struct sandbox_user user;
        unsigned measures;

        enter_user_namespace();
        user = sandbox_user();
        if (geteuid() != 0 || user.change)
            _exit(1);
        if (capabilities_drop(0) < 0 || syscall(SYS_capget, &header, sets) < 0 ||
            sets[0].permitted || sets[1].permitted)
            _exit(5);
        _exit(enter(&user, SANDBOX_ANY_SIZE, &measures) < 0 || measures & SANDBOX_USER ? 2 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        puts("SKIPPED: no user namespace can be made here");
        skip();
    }
    assert_int_equal(status, 0);
}

static void what_it_was_given_stays(void **state)
{
    FILE *file = tmpfile();
    struct sandbox_user user = sandbox_user();
    int fd, status;
    pid_t pid;
    struct stat st;

    assert_non_null(file);
    fd = fileno(file);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static const char bytes[600];
        unsigned measures;
        void *p;

        signal(SIGXFSZ, SIG_IGN);
        if (sandbox_descriptors(&fd, 1) < 0 || enter(&user, 1000, &measures) < 0)
            _exit(2);
        p = malloc(10000000);
        if (!p)
            _exit(3);
        memset(p, 1, 10000000);
        free(p);
        /* No file grows beyond what was said. */
        if (write(fd, bytes, sizeof bytes) != 600)
            _exit(4);
        if (write(fd, bytes, sizeof bytes) != 400)
            _exit(5);
        if (write(fd, bytes, sizeof bytes) >= 0 || errno != EFBIG)
            _exit(6);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 1000);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_to_a_confined_process),
        cmocka_unit_test(root_of_nobody_else_gives_up_its_capabilities),
        cmocka_unit_test(what_it_was_given_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
