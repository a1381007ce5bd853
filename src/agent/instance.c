/* SPDX-License-Identifier: MIT */
/* Tracefs instances: creating them, removing them, and removing those whose creator has ended. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tracefs.h"
#include "base/fd.h"

#define PREFIX "strata-agent-"
/* How often, and at what interval, the removal of an instance that another process still has open is
 * tried. */
#define REMOVE_TRIES 30
#define REMOVE_WAIT_US 10000
/* How many names are tried for a new instance. */
#define MAKE_TRIES 16

/* Start time of process PID: field 22 of its stat file, counted from the closing parenthesis of the
 * name, which may contain anything. -ENOENT: not running. Source: proc(5). */
static int process_start(unsigned long pid, uint64_t *ret_start)
{
    char path[64], text[1024];
    const char *p;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%lu/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return -ENOENT;
    text[n] = '\0';
    p = strrchr(text, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (!p || sscanf(p, " %" SCNu64, ret_start) != 1)
        return -EBADMSG;
    return 0;
}

static int path_of(const char *name, char *path, size_t size)
{
    if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -EINVAL;
    return (size_t)snprintf(path, size, "instances/%s", name) < size ? 0 : -ENAMETOOLONG;
}

int tracefs_instance_open(const struct tracefs *tracefs, const char *name, int *ret_fd)
{
    char path[300];
    int r = path_of(name, path, sizeof path);
    int fd;

    if (r < 0)
        return r;
    fd = openat(tracefs->fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

/* Opens the instance at PATH and locks it. -EWOULDBLOCK: another process holds the lock. */
static int open_locked(const struct tracefs *tracefs, const char *path)
{
    int fd = openat(tracefs->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    r = -errno;
    close(fd);
    return r;
}

int tracefs_instance_make(const struct tracefs *tracefs, char *ret_name, size_t size, int *ret_fd)
{
    /* number of instances created; a name whose instance could not be removed is not reused */
    static _Atomic unsigned made;
    char name[64], path[300];
    uint64_t start = 0;
    struct stat st;
    int fd = -EEXIST, r;

    process_start((unsigned long)getpid(), &start);
    for (unsigned i = 0; i < MAKE_TRIES; i++) {
        snprintf(name, sizeof name, PREFIX "%ld-%" PRIu64 "-%u", (long)getpid(), start,
                 atomic_fetch_add(&made, 1));
        if (strlen(name) >= size)
            return -ENAMETOOLONG;
        r = path_of(name, path, sizeof path);
        if (r < 0)
            return r;
        if (mkdirat(tracefs->fd, path, 0700) < 0) {
            if (errno != EEXIST)
                return -errno;
            continue; /* a process of another PID namespace has the same number */
        }
        fd = open_locked(tracefs, path);
        if (fd >= 0 && fstatat(tracefs->fd, path, &st, 0) == 0) {
            memcpy(ret_name, name, strlen(name) + 1);
            *ret_fd = fd;
            return 0;
        }
        /* An agent of another PID namespace found it before it was locked, and removes it. */
        if (fd >= 0) {
            close(fd);
            fd = -ENOENT;
        }
        if (fd != -EWOULDBLOCK && fd != -ENOENT) {
            unlinkat(tracefs->fd, path, AT_REMOVEDIR);
            return fd;
        }
    }
    return fd;
}

/* Disables all events of the instance, which takes the kernel half as long as removing it with events
 * enabled. FD is tracefs. Safe in a forked child of a process with threads. */
static void clear_events(int fd, const char *set_event)
{
    int file = openat(fd, set_event, O_WRONLY | O_TRUNC | O_CLOEXEC);

    if (file >= 0)
        close(file);
}

int tracefs_instance_remove(const struct tracefs *tracefs, const char *name)
{
    char path[300], set_event[320];
    int r = path_of(name, path, sizeof path);

    if (r < 0)
        return r;
    snprintf(set_event, sizeof set_event, "%s/set_event", path);
    clear_events(tracefs->fd, set_event);
    return unlinkat(tracefs->fd, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Calls only functions that are safe in a forked child of a process with threads. Keeps the instance
 * locked by LOCK. Closes all other descriptors but FD, because the next agent needs the ports and
 * addresses, and a parent may wait for end of file on our output. */
static _Noreturn void remove_in_child(int fd, int lock, const char *path, const char *set_event)
{
    /* the copies first: LOCK may be 0, and FD 1 */
    fd = fcntl(fd, F_DUPFD, 2);
    lock = fcntl(lock, F_DUPFD, 2);
    if (fd < 0 || lock < 0 || dup2(fd, 0) < 0 || dup2(lock, 1) < 0)
        _exit(errno);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 2, ~0u, 0) < 0)
#endif
        for (int i = 2; i < 1024; i++)
            close(i);
    clear_events(0, set_event);
    for (int i = 0; i < REMOVE_TRIES; i++) {
        if (unlinkat(0, path, AT_REMOVEDIR) == 0)
            _exit(0);
        if (errno != EBUSY)
            break;
        usleep(REMOVE_WAIT_US); /* the process that has it open is closing it */
    }
    _exit(MIN(errno, 255));
}

int tracefs_instance_remove_by(const struct tracefs *tracefs, const char *name, int lock,
                               const _Atomic bool *ending, unsigned ms)
{
    char path[300], set_event[320];
    int r = path_of(name, path, sizeof path);
    int status;
    pid_t child;

    if (r < 0)
        return r;
    snprintf(set_event, sizeof set_event, "%s/set_event", path);
    child = fork();
    if (child < 0)
        return tracefs_instance_remove(tracefs, name);
    if (child == 0)
        remove_in_child(tracefs->fd, lock, path, set_event);
    for (unsigned waited = 0; waited <= ms; waited += atomic_load(ending)) {
        pid_t done = waitpid(child, &status, WNOHANG);

        if (done < 0 && errno != EINTR)
            return -errno;
        if (done == child)
            return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
        usleep(1000);
    }
    return -EINPROGRESS;
}

/* Removes the instance if it was left by an agent that has ended; returns true then. Only the lock shows this, because
 * the creator may be in another PID namespace, in which its PID means another process. */
static bool remove_leftover(const struct tracefs *tracefs, const char *name)
{
    _cleanup_(closep) int lock = -1;
    char path[300];

    if (path_of(name, path, sizeof path) < 0)
        return false;
    lock = open_locked(tracefs, path);
    return lock >= 0 && tracefs_instance_remove(tracefs, name) >= 0;
}

int tracefs_instance_sweep(const struct tracefs *tracefs)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(tracefs->fd, "instances");
    uint64_t start;
    int n = 0;

    if (!dir)
        return -errno;
    /* Without access to /proc every creator would seem to have ended. */
    if (process_start((unsigned long)getpid(), &start) >= 0) {
        const struct dirent *entry;

        while ((entry = readdir(dir))) {
            unsigned long pid;
            uint64_t made;
            int end = 0, r;

            if (sscanf(entry->d_name, PREFIX "%lu-%" SCNu64 "-%*u%n", &pid, &made, &end) != 2 ||
                end == 0 || entry->d_name[end])
                continue;
            r = process_start(pid, &start);
            if (r == -ENOENT || (r >= 0 && start != made))
                n += remove_leftover(tracefs, entry->d_name);
        }
    }
    return n;
}
