/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/process_root.h"

static _Noreturn void fail(int errors)
{
    int error = errno;

    (void)!write(errors, &error, sizeof error);
    _exit(127);
}

/* Restores signals that this program ignores for itself. Caught signals are reset by exec; a signal
 * that was already ignored when this program started (nohup) stays ignored. */
static void reset_signals(const sigset_t *mask)
{
    static const int ours[] = {SIGPIPE, SIGXFSZ, SIGCHLD};

    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        signal(ours[i], SIG_DFL);
    if (mask)
        sigprocmask(SIG_SETMASK, mask, NULL);
}

/* A service has ambient capabilities for itself: root's rights, for a program that it starts as an ordinary user. Those
 * that cannot be inherited are not ambient either. Nothing changes for a program that root starts. */
static bool drop_inheritable_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &header, sets) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        sets[i].inheritable = 0;
    return syscall(SYS_capset, &header, sets) >= 0;
}

static void place(int fd, int target, int errors)
{
    if (fd >= 0 && dup2(fd, target) < 0)
        fail(errors);
}

static _Noreturn void run(const struct child_how *how, pid_t parent, int errors)
{
    int r = how->root_of > 0 ? process_root_enter(how->root_of) : 0;

    if (r < 0) {
        errno = -r;
        fail(errors);
    }
    if (how->end_signal && prctl(PR_SET_PDEATHSIG, how->end_signal) < 0)
        fail(errors);
    if (how->end_signal && getppid() != parent) /* the parent died before prctl() */
        _exit(127);
    if (how->new_session)
        (void)setsid();
    place(how->in, 0, errors);
    place(how->out, 1, errors);
    place(how->err, 2, errors);
    if (how->keep > 0 && fcntl(how->keep, F_SETFD, 0) < 0)
        fail(errors);
    reset_signals(how->mask);
    if (!how->keep_capabilities && !drop_inheritable_capabilities())
        fail(errors);
    if (how->environment)
        environ = (char **)how->environment;
    if (how->variable && putenv((char *)(uintptr_t)how->variable) < 0)
        fail(errors);
    if (how->program)
        execv(how->program, (char *const *)how->argv);
    else
        execvp(how->argv[0], (char *const *)how->argv);
    fail(errors);
}

int child_start(const struct child_how *how, struct child *ret, struct error *error)
{
    struct child child = {.end = -1, .watch = oom_begin()};
    pid_t parent = getpid();
    int errors[2], err = 0;
    ssize_t n;

    if (pipe2(errors, O_CLOEXEC) < 0)
        return error_set(error, -errno, NULL, "cannot make a pipe: %s", strerror(errno));
    child.pid = fork();
    if (child.pid < 0) {
        err = errno;
        close(errors[0]);
        close(errors[1]);
        return error_set(error, -err, how->argv[0], "cannot make a process: %s", strerror(err));
    }
    if (child.pid == 0)
        run(how, parent, errors[1]);
    close(errors[1]);
    /* Ends when the child has executed its program. */
    do
        n = read(errors[0], &err, sizeof err);
    while (n < 0 && errno == EINTR);
    close(errors[0]);
    if (n == (ssize_t)sizeof err) {
        while (waitpid(child.pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return error_set(error, -err, how->program ? how->program : how->argv[0],
                         "cannot be run: %s", strerror(err));
    }
#ifdef SYS_pidfd_open
    child.end = (int)syscall(SYS_pidfd_open, child.pid, 0);
#endif
    *ret = child;
    return 0;
}

int child_adopt(pid_t pid, struct child *ret)
{
    struct child child = {.pid = pid, .end = -1, .foreign = true, .watch = oom_begin()};

#ifdef SYS_pidfd_open
    child.end = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
    if (child.end < 0)
        return -ESRCH;
    *ret = child;
    return 0;
}

void child_adopt_orphans(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Adds those of thread TASK. -errno: they cannot be read now. */
static int list_of_thread(const char *task, pid_t *ret, unsigned max, unsigned *n)
{
    char path[64], text[4096];
    int r;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", task);
    r = proc_text(path, text, sizeof text);
    if (r < 0)
        return proc_is_gone(r) ? 0 : r; /* or the kernel lists no children */
    for (char *at = text, *end; *n < max; at = end) {
        pid_t pid = (pid_t)strtol(at, &end, 10);
        uint64_t start;
        char state;

        if (end == at)
            break;
        r = proc_stat(pid, &start, &state);
        if (r < 0 && !proc_is_gone(r))
            return r;
        if (r >= 0 && state != 'Z' && state != 'X')
            ret[(*n)++] = pid;
    }
    return 0;
}

/* -errno: there may be children, but they cannot be listed now. */
static int list(pid_t *ret, unsigned max, unsigned *ret_n)
{
    _cleanup_(closedirp) DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    int r = 0;

    *ret_n = 0;
    if (!dir && errno != ENOENT)
        return -errno;
    while (r >= 0 && dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            r = list_of_thread(entry->d_name, ret, max, ret_n);
    return r;
}

unsigned child_list(pid_t *ret, unsigned max)
{
    unsigned n;

    (void)list(ret, max, &n);
    return n;
}

int children_list(struct children *ret, struct error *error)
{
    int r = list(ret->pids, CHILDREN_MAX, &ret->n);

    return r < 0 ? error_set(error, r, "/proc/self/task", "%s", strerror(-r)) : 0;
}

/* ---- Helpers ---- */

static pid_t helpers[CHILD_HELPERS_MAX]; /* 0: none */

void child_add_helper(pid_t pid)
{
    for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
        /* One that has ended stays as long as processes of its session do; its number is not used again meanwhile. */
        if (helpers[i] == 0 || (kill(helpers[i], 0) < 0 && kill(-helpers[i], 0) < 0)) {
            helpers[i] = pid;
            return;
        }
}

void child_remove_helper(pid_t pid)
{
    for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
        if (helpers[i] == pid && kill(-pid, 0) < 0)
            helpers[i] = 0;
}

static bool is_of_helper(pid_t pid)
{
    pid_t session = getsid(pid);

    for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
        if (helpers[i] != 0 && (helpers[i] == pid || helpers[i] == session))
            return true;
    return false;
}

unsigned children_count_orphans(const struct children *before, const struct child *child)
{
    pid_t now[2 * CHILDREN_MAX];
    unsigned n = child_list(now, ARRAY_SIZE(now));
    unsigned orphans = 0;

    for (unsigned i = 0; i < n; i++) {
        bool is_known = now[i] == child->pid || is_of_helper(now[i]);

        for (unsigned j = 0; j < before->n && !is_known; j++)
            is_known = before->pids[j] == now[i];
        orphans += !is_known;
    }
    return orphans;
}

/* From Linux 6.15 on a pidfd shows how its process ended, once the parent has been told. */
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code; /* as of waitpid() */
};
#define PIDFD_INFO_EXIT 8u
#define PIDFD_GET_INFO _IOWR(0xff, 11, struct pidfd_info)

static bool find_reaped(const struct child *child, int *ret)
{
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};

    if (ioctl(child->end, PIDFD_GET_INFO, &info) < 0 || !(info.mask & PIDFD_INFO_EXIT))
        return false;
    *ret = info.exit_code;
    return true;
}

/* … which until then is the last number of its line of /proc, or 0 where we may not know. */
static bool find_zombie(const struct child *child, int *ret)
{
#ifdef SYS_pidfd_send_signal
    char path[64], text[1024];
    const char *last;
    uint64_t start;
    char state;
    long status;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)child->pid);
    if (proc_stat(child->pid, &start, &state) < 0 || state != 'Z' ||
        proc_text(path, text, sizeof text) < 0)
        return false;
    last = strrchr(text, ' ');
    status = last ? strtol(last, NULL, 10) : 0;
    /* The line is of this process, not of a later process with its PID, if the process still exists. */
    if (status <= 0 || status > UINT16_MAX ||
        syscall(SYS_pidfd_send_signal, child->end, 0, NULL, 0) < 0)
        return false;
    *ret = (int)status;
    return true;
#else
    (void)child;
    (void)ret;
    return false;
#endif
}

/* Why the kernel killed it, if so. */
static void find_reason(struct child *child)
{
    bool is_killed = WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGKILL;

    if (child->is_status_unknown || is_killed)
        child->oom = oom_judge(&child->watch, child->pid, &child->oom_kills);
    if (child->is_status_unknown && child->oom == OOM_MAYBE)
        child->oom = OOM_NOT;
}

void child_find_status(struct child *child)
{
    int status;

    if (!child->ended || !child->is_status_unknown ||
        (!find_zombie(child, &status) && !find_reaped(child, &status)))
        return;
    child->status = status;
    child->is_status_unknown = false;
    find_reason(child);
}

bool child_has_ended(struct child *child)
{
    if (child->foreign && !child->ended) {
        struct pollfd end = {child->end, POLLIN, 0};

        child->ended = poll(&end, 1, 0) > 0;
        if (!child->ended)
            return false;
        /* An adopted orphan must not stay as a zombie. */
        child->is_status_unknown = waitpid(child->pid, &child->status, WNOHANG) != child->pid;
        find_reason(child);
        child_find_status(child);
        return true;
    }
    if (child->pid > 0 && !child->ended &&
        waitpid(child->pid, &child->status, WNOHANG) == child->pid) {
        child->ended = true;
        find_reason(child);
    }
    return child->ended || child->pid == 0;
}

bool child_wait(struct child *child, uint64_t ns)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + ns;
    uint64_t now;

    while (!child_has_ended(child) && (now = clock_ns(CLOCK_MONOTONIC)) < until) {
        struct pollfd end = {child->end, POLLIN, 0};
        uint64_t ms = (until - now) / 1000000 + 1;

        (void)poll(&end, 1, (int)MIN(ms, child->end < 0 ? 5u : 1000u));
    }
    return child_has_ended(child);
}

void child_signal(const struct child *child, int signal)
{
    if (child->pid > 0 && !child->ended && !child->foreign)
        kill(child->pid, signal);
}

bool child_signal_adopted(const struct child *child, int signal)
{
#ifdef SYS_pidfd_send_signal
    return child->pid > 0 && child->foreign &&
           syscall(SYS_pidfd_send_signal, child->end, signal, NULL, 0) == 0;
#else
    (void)signal;
    return false;
#endif
}

void child_done(struct child *child)
{
    if (child->pid > 0 && !child->foreign && !child_has_ended(child)) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
            ;
        child->ended = true;
    }
    if (child->end >= 0)
        close(child->end);
    *child = (struct child){.end = -1};
}

int child_exit_status(const struct child *child)
{
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

const char *child_end_text(const struct child *child, char *buf, size_t size)
{
    int signal = WTERMSIG(child->status);

    if (child->oom == OOM_KILLED)
        snprintf(buf, size, "killed by signal 9 (Killed): memory was exhausted");
    else if (child->is_status_unknown)
        snprintf(buf, size, "ended");
    else if (WIFSIGNALED(child->status) && child->oom == OOM_MAYBE)
        snprintf(buf, size, "killed by signal %d (%s), perhaps because memory was exhausted",
                 signal, strsignal(signal));
    else if (WIFSIGNALED(child->status))
        snprintf(buf, size, "killed by signal %d (%s)", signal, strsignal(signal));
    else
        snprintf(buf, size, "status %d", WEXITSTATUS(child->status));
    return buf;
}
