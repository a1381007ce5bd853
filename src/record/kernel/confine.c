/* SPDX-License-Identifier: MIT */
#include "record/kernel/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/macro.h"

#define NOBODY 65534

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define THIS_ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define THIS_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define THIS_ARCH AUDIT_ARCH_S390X
#endif

struct confine_user confine_user(void)
{
    struct confine_user user = {.uid = NOBODY, .gid = NOBODY, .change = geteuid() == 0};
    const struct passwd *nobody = user.change ? getpwnam("nobody") : NULL;

    if (nobody && nobody->pw_uid != 0) {
        user.uid = nobody->pw_uid;
        user.gid = nobody->pw_gid;
    }
    user.change = user.change && capabilities_can_become(user.uid, user.gid);
    return user;
}

void confine_names(unsigned measures, char *buf, size_t size)
{
    static const char *const names[] = {"user", "landlock", "seccomp"};
    size_t len = 0;

    *buf = '\0';
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        if (measures & 1u << i && len < size)
            len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "", names[i]);
}

static bool is_kept(int fd, const int *keep, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (keep[i] == fd)
            return true;
    return false;
}

int confine_descriptors(const int *keep, unsigned n)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    unsigned from = 3;
    int top = 2;

    if (null < 0)
        return -errno;
    for (int fd = 0; fd <= 2; fd++) {
#if defined(__SANITIZE_ADDRESS__)
        if (fd == 2)
            continue; /* for the sanitizer's report */
#endif
        if (!is_kept(fd, keep, n) && dup2(null, fd) < 0)
            return -errno;
    }
    for (unsigned i = 0; i < n; i++)
        top = MAX(top, keep[i]);
    for (int fd = (int)from; fd <= top; fd++)
        if (!is_kept(fd, keep, n))
            close(fd);
    if (syscall(SYS_close_range, (unsigned)top + 1, ~0u, 0u) < 0)
        for (int fd = top + 1; fd < 65536; fd++)
            close(fd);
    return 0;
}

static int drop_user(const struct confine_user *user)
{
    if (!user->change)
        return capabilities_drop(0);
    if (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
        setresuid(user->uid, user->uid, user->uid) < 0)
        return -errno;
    /* If it can become root again, it did not give that up. */
    return setuid(0) == 0 ? -EPERM : 0;
}

static int set_limits(uint64_t max_file)
{
    struct rlimit none = {0, 0};
    struct rlimit file = {max_file, max_file};

    /* A core file would put the guest's data on the user's disk. */
    if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
        return -errno;
    if (max_file && setrlimit(RLIMIT_FSIZE, &file) < 0)
        return -errno;
    return prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}

/* Denies every access to files by a path, without exceptions. */
static int shut_files(void)
{
#if defined(SYS_landlock_create_ruleset)
    struct landlock_ruleset_attr attr = {.handled_access_fs = (UINT64_C(1) << 13) - 1};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    int r;

    if (fd < 0)
        return -errno;
    r = syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
    close(fd);
    return r;
#else
    return -ENOSYS;
#endif
}

#ifdef THIS_ARCH
/* What the parser needs, and libc, zstd and the sanitizers for memory. */
static const int allowed[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_recvfrom,
    SYS_sendto,
    SYS_ppoll,
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    SYS_ftruncate, /* after pages could only be written in part */
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_getrandom,
    SYS_restart_syscall,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_futex,
    SYS_sched_yield,
    SYS_getpid,
    SYS_gettid,
    SYS_sysinfo, /* qsort() asks how much memory there is */
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_exit,
    SYS_exit_group,
#if defined(__SANITIZE_ADDRESS__)
    SYS_sigaltstack,
    SYS_rt_sigaction,
    SYS_prctl,
    SYS_openat, /* /proc/self/maps, for a report; landlock denies it where there is one */
#ifdef SYS_open
    SYS_open,
#endif
    SYS_ioctl, /* whether standard error is a terminal, for a report, too */
    SYS_readlink,
    SYS_getuid,
    SYS_tgkill,
    SYS_clone,
    SYS_wait4,
    SYS_prlimit64,
#endif
};

static int shut_calls(void)
{
    struct sock_filter program[8 + 2 * ARRAY_SIZE(allowed)];
    struct sock_fprog prog = {.filter = program};
    unsigned short n = 0;

    /* System calls of another instruction set have other numbers. */
    program[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        if (allowed[i] == SYS_mmap)
            continue;
        program[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    /* mmap(), but not of executable memory. */
    program[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_mmap, 0, 3);
    program[n++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) +
                                      (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4));
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    prog.len = n;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno : 0;
}
#else
static int shut_calls(void)
{
    return -ENOSYS;
}
#endif

int confine(const struct confine_user *user, uint64_t max_file, unsigned *ret_measures,
            struct error *error)
{
    unsigned measures = user->change ? CONFINE_USER : 0;
    int r = drop_user(user);

    if (r < 0)
        return error_set(error, r, NULL, "cannot become user %u: %s", user->uid, strerror(-r));
    r = set_limits(max_file);
    if (r < 0)
        return error_set(error, r, NULL, "cannot set its limits: %s", strerror(-r));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set(error, -errno, NULL, "cannot give up privileges: %s", strerror(errno));
    if (shut_files() == 0)
        measures |= CONFINE_LANDLOCK;
    if (shut_calls() == 0)
        measures |= CONFINE_SECCOMP;
    *ret_measures = measures;
    return 0;
}
