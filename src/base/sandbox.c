/* SPDX-License-Identifier: MIT */
#include "base/sandbox.h"

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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/fd.h"
#include "base/macro.h"

#define NOBODY 65534
/* All kinds of access that the first version of landlock knows. */
#define ACCESS_ALL ((UINT64_C(1) << 13) - 1)

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

struct sandbox_user sandbox_user(void)
{
    struct sandbox_user user = {.uid = NOBODY, .gid = NOBODY, .change = geteuid() == 0};
    const struct passwd *nobody = user.change ? getpwnam("nobody") : NULL;

    if (nobody && nobody->pw_uid != 0) {
        user.uid = nobody->pw_uid;
        user.gid = nobody->pw_gid;
    }
    user.change = user.change && capabilities_can_become(user.uid, user.gid);
    return user;
}

void sandbox_names(unsigned measures, char *buf, size_t size)
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

int sandbox_descriptors(const int *keep, unsigned n)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
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
    for (int fd = 3; fd <= top; fd++)
        if (!is_kept(fd, keep, n))
            close(fd);
    if (syscall(SYS_close_range, (unsigned)top + 1, ~0u, 0u) < 0)
        for (int fd = top + 1; fd < 65536; fd++)
            close(fd);
    return 0;
}

static int drop_user(const struct sandbox *sandbox)
{
    const struct sandbox_user *user = sandbox->user;

    if (!user || !user->change)
        return capabilities_drop(sandbox->capabilities);
    if (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
        setresuid(user->uid, user->uid, user->uid) < 0)
        return -errno;
    /* If it can become root again, it did not give that up. */
    return setuid(0) == 0 ? -EPERM : 0;
}

static int limit(int resource, uint64_t max)
{
    return setrlimit((unsigned)resource, &(struct rlimit){max, max}) < 0 ? -errno : 0;
}

static int set_limits(const struct sandbox *sandbox)
{
    /* A core file would put the guest's data on the user's disk. */
    int r = limit(RLIMIT_CORE, 0);

    if (r >= 0)
        r = limit(RLIMIT_NPROC, 0);
    if (r >= 0 && sandbox->max_file != SANDBOX_ANY_SIZE)
        r = limit(RLIMIT_FSIZE, sandbox->max_file);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (r >= 0 && sandbox->max_memory != SANDBOX_ANY_SIZE)
        r = limit(RLIMIT_AS, sandbox->max_memory);
#endif
    if (r >= 0)
        r = prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
    return r;
}

/* ---- Landlock ---- */

#if defined(SYS_landlock_create_ruleset)
static int allow_below(int rules, const char *dir)
{
    struct landlock_path_beneath_attr below = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
                                                                 LANDLOCK_ACCESS_FS_READ_DIR};
    _cleanup_(closep) int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (at < 0)
        return -errno;
    below.parent_fd = at;
    return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0 ? -errno
                                                                                            : 0;
}
#endif

/* Denies every access to files by a path, except reading below DIR. 0: this kernel has no landlock; 1: it is done. */
static int shut_files(const char *dir)
{
#if defined(SYS_landlock_create_ruleset)
    const struct landlock_ruleset_attr attr = {.handled_access_fs = ACCESS_ALL};
    _cleanup_(closep) int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    int r = 0;

    /* EPERM: a filter of system calls forbids this one. */
    if (rules < 0)
        return errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 0 : -errno;
    if (dir)
        r = allow_below(rules, dir);
    if (r < 0)
        return r;
    return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 1;
#else
    (void)dir;
    return 0;
#endif
}

/* ---- System calls ---- */

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

/* What reading files takes besides. */
static const int allowed_files[] = {
    SYS_openat,
#ifdef SYS_open
    SYS_open,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_stat
    SYS_stat,         SYS_lstat,
#endif
#ifdef SYS_access
    SYS_access,       SYS_readlink,
#endif
#ifdef SYS_getdents
    SYS_getdents,
#endif
#ifdef SYS_fadvise64
    SYS_fadvise64,
#endif
#ifdef SYS_dup2
    SYS_dup2,
#endif
    SYS_statx,        SYS_fstatfs,    SYS_faccessat,
    SYS_readlinkat,   SYS_getdents64, SYS_getcwd,
    SYS_pread64,      SYS_preadv,     SYS_dup,
    SYS_dup3,         SYS_fcntl,      SYS_flock,
    SYS_nanosleep,    SYS_uname,      SYS_getuid,
    SYS_geteuid,      SYS_getgid,     SYS_getegid,
    SYS_clock_getres, SYS_getrusage,  SYS_sched_getaffinity,
};

static const int allowed_connections[] = {
    SYS_connect,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_shutdown,
};

struct filter {
    struct sock_filter program[32 + 2 * (ARRAY_SIZE(allowed) + ARRAY_SIZE(allowed_files) +
                                         ARRAY_SIZE(allowed_connections))];
    unsigned short n;
};

static void put(struct filter *filter, struct sock_filter instruction)
{
    filter->program[filter->n++] = instruction;
}

static void load(struct filter *filter, size_t offset)
{
    put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* The next N instructions are for a value that compares by OPERATION with K. They are passed over otherwise. */
static void skip_unless(struct filter *filter, uint16_t operation, uint32_t k, uint8_t n)
{
    put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | operation | BPF_K, k, 0, n));
}

static void end_with(struct filter *filter, uint32_t action)
{
    put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void allow_all(struct filter *filter, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (calls[i] == SYS_mmap)
            continue;
        skip_unless(filter, BPF_JEQ, (uint32_t)calls[i], 1);
        end_with(filter, SECCOMP_RET_ALLOW);
    }
}

/* Where the low half of argument I is. */
static size_t argument(unsigned i)
{
    return offsetof(struct seccomp_data, args) + i * sizeof(uint64_t) +
           (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4);
}

static int shut_calls(const struct sandbox *sandbox)
{
    uint32_t otherwise = sandbox->dir || sandbox->may_connect
                             ? SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA)
                             : SECCOMP_RET_KILL_PROCESS;
    struct filter filter = {.n = 0};
    struct sock_fprog prog = {.filter = filter.program};

    /* System calls of another instruction set have other numbers. */
    load(&filter, offsetof(struct seccomp_data, arch));
    put(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0));
    end_with(&filter, SECCOMP_RET_KILL_PROCESS);
    load(&filter, offsetof(struct seccomp_data, nr));
    allow_all(&filter, allowed, ARRAY_SIZE(allowed));
    if (sandbox->dir)
        allow_all(&filter, allowed_files, ARRAY_SIZE(allowed_files));
    if (sandbox->may_connect) {
        allow_all(&filter, allowed_connections, ARRAY_SIZE(allowed_connections));
        /* socket(), but only of this machine. */
        skip_unless(&filter, BPF_JEQ, SYS_socket, 4);
        load(&filter, argument(0));
        skip_unless(&filter, BPF_JEQ, AF_UNIX, 1);
        end_with(&filter, SECCOMP_RET_ALLOW);
        end_with(&filter, otherwise);
    }
    /* mmap(), but not of executable memory. */
    skip_unless(&filter, BPF_JEQ, SYS_mmap, 3);
    load(&filter, argument(2));
    put(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0));
    end_with(&filter, SECCOMP_RET_ALLOW);
    end_with(&filter, otherwise);
    prog.len = filter.n;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno : 0;
}
#else
static int shut_calls(const struct sandbox *sandbox)
{
    (void)sandbox;
    return -ENOSYS;
}
#endif

int sandbox_enter(const struct sandbox *sandbox, unsigned *ret_measures, struct error *error)
{
    unsigned measures = sandbox->user && sandbox->user->change ? SANDBOX_USER : 0;
    int r = drop_user(sandbox);

    if (r < 0 && measures)
        return error_set(error, r, NULL, "cannot become user %u: %s", sandbox->user->uid,
                         strerror(-r));
    if (r >= 0)
        r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
    if (r < 0)
        return error_set(error, r, NULL, "cannot give up privileges: %s", strerror(-r));
    r = set_limits(sandbox);
    if (r < 0)
        return error_set(error, r, NULL, "cannot set its limits: %s", strerror(-r));
    r = shut_files(sandbox->dir);
    if (r < 0 && sandbox->dir)
        return error_set(error, r, sandbox->dir, "cannot shut out files: %s", strerror(-r));
    if (r > 0)
        measures |= SANDBOX_LANDLOCK;
    if (shut_calls(sandbox) == 0)
        measures |= SANDBOX_SECCOMP;
    *ret_measures = measures;
    return 0;
}
