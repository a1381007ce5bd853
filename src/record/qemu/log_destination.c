/* SPDX-License-Identifier: MIT */
#include "record/qemu/log_destination.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/qemu/log_search.h"

#define FIFO_NAME "strata-log"

#define STDERR_DEVICE "/dev/stderr"
#define STDERR_OF_SELF "/proc/self/fd/2"

char *log_destination_in_domain(const struct qemu_process *running)
{
    char *path;

    /* QEMU takes a % in the name of its log as a template. */
    if (!running->libvirt || strchr(running->libvirt, '%') ||
        faccessat(AT_FDCWD, running->libvirt, W_OK | X_OK, AT_EACCESS) < 0)
        return NULL;
    if (asprintf(&path, "%s/" FIFO_NAME, running->libvirt) < 0)
        return NULL;
    (void)unlink(path);
    return path;
}

int log_destination_user(pid_t pid, uid_t *ret_uid, gid_t *ret_gid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (stat(path, &st) < 0)
        return -errno;
    *ret_uid = st.st_uid;
    *ret_gid = st.st_gid;
    return 0;
}

struct wanted {
    const struct stat *st; /* NULL: one with `name` as its last part */
    const char *name;
    int fd; /* what was found; -1: nothing yet */
};

static int open_if_wanted(const struct log_descriptor *descriptor, void *userdata)
{
    struct wanted *wanted = userdata;
    size_t len = strlen(wanted->name);
    char link[PATH_MAX];
    const char *last;
    ssize_t n = readlinkat(descriptor->dir, descriptor->name, link, sizeof link - 1);

    if (n < 0)
        return 0;
    link[n] = '\0';
    last = strrchr(link, '/');
    if (wanted->st ? descriptor->st.st_dev != wanted->st->st_dev ||
                         descriptor->st.st_ino != wanted->st->st_ino
                   : !last || strncmp(last + 1, wanted->name, len) != 0 ||
                         !memchr("\0.- ", last[1 + len], sizeof "\0.- " - 1))
        return 0;
    wanted->fd = log_search_open(descriptor);
    return wanted->fd >= 0;
}

/* Opens a regular file that process PID has open for writing, for reading: the file of ST or, if ST is NULL, a file
 * whose last part is NAME, even if it was renamed to NAME.1 or deleted. -1: there is none. */
static int open_again(pid_t pid, const struct stat *st, const char *name)
{
    struct wanted wanted = {.st = st, .name = name, .fd = -1};

    (void)log_search_foreach_writable(pid, open_if_wanted, &wanted);
    return wanted.fd;
}

/* The log of -D NAME. As QEMU does, a %d is replaced by its number. */
static int open_named(const struct qemu_process *running, const char *name, struct error *error)
{
    const char *number = strstr(name, "%d"), *slash;
    _cleanup_free_ char *full = NULL;
    struct stat st;
    int named, fd = -1;

    if (number ? asprintf(&full, "%.*s%ld%s", (int)(number - name), name, (long)running->pid,
                          number + 2) < 0
               : asprintf(&full, "%s", name) < 0) {
        full = NULL;
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    named = qemu_process_file(running, full, O_PATH | O_NONBLOCK);
    if (named >= 0) {
        bool is_known = fstat(named, &st) == 0;

        close(named);
        if (is_known && !S_ISREG(st.st_mode))
            return -ENOENT;
        fd = is_known ? open_again(running->pid, &st, full) : -1;
    }
    slash = strrchr(full, '/');
    if (fd < 0)
        fd = open_again(running->pid, NULL, slash ? slash + 1 : full);
    return fd >= 0 ? fd
                   : error_set(error, -EREMOTE, NULL,
                               "its log %s is not open in QEMU any more, and QEMU 8.0 or later "
                               "would empty that file when it goes back to it",
                               full);
}

int log_destination_own_file(const struct qemu_process *running, struct error *error)
{
    const char *name = qemu_process_log(running);
    char path[64];
    struct stat st;
    int fd;

    if (running->logs_by_thread)
        return -ENOENT;
    if (name && !log_destination_is_stderr(name))
        return open_named(running, name, error);
    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)running->pid);
    if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        return error_set(error, -EREMOTE, NULL,
                         "it logs to its standard error, a socket, which it could not open again; "
                         "move its log to a file first: strata ctl %ld monitor 'logfile /FILE'",
                         (long)running->pid);
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return -ENOENT;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd
                   : error_set(error, -errno, "QEMU's standard error",
                               "QEMU's log cannot be read: %s", strerror(errno));
}

const char *log_destination_stderr(pid_t pid)
{
    char path[64];
    struct stat st;

    /* The /dev that libvirt makes for a domain has the devices that QEMU needs, and no more. */
    snprintf(path, sizeof path, "/proc/%ld/root/dev/stderr", (long)pid);
    return lstat(path, &st) < 0 && errno == ENOENT ? STDERR_OF_SELF : STDERR_DEVICE;
}

bool log_destination_is_reachable(pid_t pid, const char *file)
{
    _cleanup_free_ char *full = NULL;
    char path[64], root[8];
    struct stat st;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%ld/root", (long)pid);
    n = readlink(path, root, sizeof root);
    if (n < 0 || (n == 1 && root[0] == '/'))
        return true;
    if (asprintf(&full, "/proc/%ld/%s%s", (long)pid, *file == '/' ? "root" : "cwd/", file) < 0) {
        full = NULL;
        return true;
    }
    return lstat(full, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool log_destination_is_stderr(const char *path)
{
    return strcmp(path, STDERR_DEVICE) == 0 || strcmp(path, STDERR_OF_SELF) == 0;
}

static bool can_be_lent(const struct stat *st)
{
    return S_ISFIFO(st->st_mode) || S_ISREG(st->st_mode);
}

struct log_loan log_destination_lend_stderr(pid_t pid)
{
    struct log_loan loan = LOG_LOAN_NONE;
    char path[64];
    struct stat st;
    uid_t uid = 0;
    gid_t gid = 0;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)pid);
    /* This opens the pipe or file itself, as QEMU has it. */
    if (log_destination_user(pid, &uid, &gid) < 0 || stat(path, &st) < 0 || !can_be_lent(&st) ||
        st.st_uid == uid)
        return loan;
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return loan;
    if (fstat(fd, &st) == 0 && can_be_lent(&st) && fchown(fd, uid, gid) == 0)
        loan = (struct log_loan){fd, st.st_uid, st.st_gid};
    else
        close(fd);
    return loan;
}

void log_destination_return(struct log_loan *loan)
{
    if (loan->fd < 0)
        return;
    (void)!fchown(loan->fd, loan->uid, loan->gid);
    close(loan->fd);
    *loan = LOG_LOAN_NONE;
}
