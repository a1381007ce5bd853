/* SPDX-License-Identifier: MIT */
#include "runtime/process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/scratch_buffer.h"

#define LINKS_MAX 40
#define TRIES 8 /* when another process makes and removes the same name */

static atomic_bool unsafe;

void file_allow_unsafe(bool allow)
{
    atomic_store(&unsafe, allow);
}

const char *file_error_text(int error)
{
    switch (error) {
    case -EPERM:
        return "another user can write to its directory, or owns it (unsafe-directory=on, given "
               "before, writes it nevertheless)";
    case -ELOOP: return "is, or is below, a symbolic link that is not followed";
    case -EBUSY: return "another process writes it";
    case -ENXIO: return "no process reads that pipe";
    default: return strerror(-error); /* NOLINT(concurrency-mt-unsafe): glibc's is safe */
    }
}

/* ---- Which owners are trusted ---- */

static bool is_trusted_owner(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static bool others_can_write(const struct stat *st)
{
    return st->st_mode & S_IWOTH ||
           (st->st_mode & S_IWGRP && st->st_gid != 0 && st->st_gid != geteuid());
}

/* Whether what is ours in the directory stays ours. */
static bool is_safe_directory(const struct stat *st)
{
    return atomic_load_explicit(&unsafe, memory_order_relaxed) ||
           (is_trusted_owner(st) && (!others_can_write(st) || st->st_mode & S_ISVTX));
}

/* Whether a file that exists is to be written to. */
static bool is_safe_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode) && !S_ISCHR(st->st_mode))
        return false;
    return atomic_load_explicit(&unsafe, memory_order_relaxed) || S_ISCHR(st->st_mode) ||
           (is_trusted_owner(st) && (!S_ISREG(st->st_mode) || st->st_nlink <= 1));
}

/* ---- The way to a file ---- */

/* A path that is walked, in scratch memory. */
struct walk {
    int directory; /* where it is, O_PATH */
    char *path;    /* SCRATCH_SIZE bytes */
    char *at;      /* what is left of it */
    unsigned n_links;
};

static int change_to(struct walk *walk, int directory)
{
    struct stat st;
    int r = 0;

    if (directory < 0)
        return -errno;
    if (fstat(directory, &st) < 0)
        r = -errno;
    else if (!S_ISDIR(st.st_mode))
        r = -ENOTDIR;
    else if (!is_safe_directory(&st))
        r = -EPERM;
    if (r < 0) {
        close(directory);
        return r;
    }
    if (walk->directory >= 0)
        close(walk->directory);
    walk->directory = directory;
    return 0;
}

/* The rest of the path begins with the target of LINK from now on. */
static int follow(struct walk *walk, int link, const struct stat *st)
{
    char *target = scratch_buffer_get();
    size_t rest = strlen(walk->at) + 1;
    ssize_t len;
    int r = 0;

    if (!target)
        return -ENOMEM;
    len = readlinkat(link, "", target, SCRATCH_SIZE);
    if (len <= 0)
        r = len < 0 ? -errno : -ENOENT;
    else if (walk->n_links++ >= LINKS_MAX ||
             (!is_trusted_owner(st) && !atomic_load_explicit(&unsafe, memory_order_relaxed)))
        r = -ELOOP;
    else if ((size_t)len + 1 + rest > SCRATCH_SIZE)
        r = -ENAMETOOLONG;
    if (r < 0) {
        scratch_buffer_put(target);
        return r;
    }
    target[len] = '/';
    memcpy(target + len + 1, walk->at, rest);
    scratch_buffer_put(walk->path);
    walk->path = walk->at = target;
    return *target == '/' ? change_to(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

static int enter(struct walk *walk, const char *name)
{
    int fd = openat(walk->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
        return change_to(walk, fd);
    r = follow(walk, fd, &st);
    close(fd);
    return r;
}

static void walk_done(struct walk *walk)
{
    if (walk->directory >= 0)
        close(walk->directory);
    scratch_buffer_put(walk->path);
}

/* Goes to the directory that PATH is in. *RET_NAME, in the walk's memory, is the last component. */
static int walk_to_parent(struct walk *walk, const char *path, const char **ret_name)
{
    size_t len = strlen(path);
    int r;

    *walk = (struct walk){.directory = -1};
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0 || len >= SCRATCH_SIZE)
        return len ? -ENAMETOOLONG : -ENOENT;
    walk->path = walk->at = scratch_buffer_get();
    if (!walk->path)
        return -ENOMEM;
    memcpy(walk->path, path, len);
    walk->path[len] = '\0';
    r = change_to(walk, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (r >= 0) {
        char *name = walk->at + strspn(walk->at, "/");
        char *end = strchrnul(name, '/');

        if (!*end) {
            *ret_name = *name ? name : ".";
            return 0;
        }
        *end = '\0';
        walk->at = end + 1;
        r = enter(walk, name);
    }
    walk_done(walk);
    return r;
}

/* ---- Files ---- */

int file_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
#ifdef __GLIBC__
    return renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE);
#else /* musl has not had it for long */
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, RENAME_NOREPLACE);
#endif
}

/* The number in PATH, if it names a descriptor; else -1. */
static int descriptor_in(const char *path)
{
    static const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/"};
    int n = 0;

    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        const char *digit = path + strlen(prefixes[i]);

        if (strncmp(path, prefixes[i], strlen(prefixes[i])) != 0 || !*digit)
            continue;
        for (; *digit >= '0' && *digit <= '9' && n < 1000000; digit++)
            n = n * 10 + (*digit - '0');
        return *digit ? -1 : n;
    }
    return -1;
}

static int open_same(struct descriptor *ret, int number)
{
    int fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
    int r = fd < 0 ? -errno : descriptor_take(ret, fd);

    if (r >= 0)
        ret->shared = true;
    return r;
}

int file_make_at(struct descriptor *ret, int directory, const char *name)
{
    int fd = openat(directory, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

    if (fd < 0)
        return -errno;
    (void)fchmod(fd, 0600); /* the umask may have taken more away */
    return descriptor_take(ret, fd);
}

/* Locks the file against other processes. The lock belongs to the open file: it ends with the process, and programs
 * that the process executes do not have it. */
static int lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY : 0;
}

/* What a file that exists is to become. */
static int prepare(int fd, enum file_mode mode)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!is_safe_file(&st))
        return -EPERM;
    if (mode != FILE_NEW || !S_ISREG(st.st_mode))
        return 0;
    if (lock(fd) < 0)
        return -EBUSY;
    if (fchmod(fd, 0600) < 0 && !atomic_load_explicit(&unsafe, memory_order_relaxed))
        return -errno;
    return ftruncate(fd, 0) < 0 ? -errno : 0;
}

static int open_in(struct descriptor *ret, int directory, const char *name, enum file_mode mode)
{
    /* A pipe must not make us wait for its reader. */
    const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY |
                      (mode == FILE_APPEND || mode == FILE_MARKER ? O_APPEND : 0);

    for (unsigned i = 0; i < TRIES; i++) {
        int fd = openat(directory, name, flags);
        int r;

        if (fd >= 0) {
            r = prepare(fd, mode);
            if (r < 0) {
                close(fd);
                return r;
            }
            return descriptor_take(ret, fd);
        }
        if (errno != ENOENT || mode >= FILE_MARKER)
            return -errno;
        fd = openat(directory, name, flags | O_CREAT | O_EXCL, 0600);
        if (fd >= 0) {
            (void)fchmod(fd, 0600);
            if (mode == FILE_NEW)
                (void)lock(fd); /* another process may have been faster, and writes there now */
            return descriptor_take(ret, fd);
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

int file_open(struct descriptor *ret, const char *path, enum file_mode mode)
{
    int number = descriptor_in(path);
    const char *name;
    struct walk walk;
    int r;

    if (number >= 0)
        return open_same(ret, number);
    r = walk_to_parent(&walk, path, &name);
    if (r < 0)
        return r;
    r = open_in(ret, walk.directory, name, mode);
    walk_done(&walk);
    return r;
}

/* ---- Directories ---- */

static int open_directory(const char *path, bool make)
{
    const char *name;
    struct walk walk;
    struct stat st;
    bool made = false;
    int fd = -1;
    int r;

    r = walk_to_parent(&walk, path, &name);
    if (r < 0)
        return r;
    if (make) {
        made = mkdirat(walk.directory, name, 0700) == 0;
        r = made || errno == EEXIST ? 0 : -errno;
    }
    if (r >= 0) {
        fd = openat(walk.directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && made) { /* by the umask */
            (void)!fchmodat(walk.directory, name, 0700, 0);
            fd = openat(walk.directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd < 0)
            /* ENOTDIR is also reported for a symbolic link. */
            r = errno == ENOTDIR && fstatat(walk.directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(st.st_mode)
                    ? -ELOOP
                    : -errno;
    }
    walk_done(&walk);
    if (r < 0)
        return r;
    if (made)
        (void)fchmod(fd, 0700); /* the umask may have taken more away */
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (!atomic_load_explicit(&unsafe, memory_order_relaxed) &&
             (!is_trusted_owner(&st) || others_can_write(&st)))
        r = -EPERM;
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

int directory_make(const char *path)
{
    return open_directory(path, true);
}

int directory_open(const char *path)
{
    return open_directory(path, false);
}
