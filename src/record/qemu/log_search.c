/* SPDX-License-Identifier: MIT */
#include "record/qemu/log_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"
#include "record/qemu/process.h"

/* Of what a file got meanwhile, this much of its end is searched: other threads may have logged as well. */
#define SEARCHED_MAX ((size_t)1 << 20)

/* ---- Descriptors of a process ---- */

int log_search_foreach_writable(pid_t pid,
                                int (*found)(const struct log_descriptor *descriptor,
                                             void *userdata),
                                void *userdata)
{
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;
    char path[64];
    int r = 0;

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    dir = opendir(path);
    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir))) {
        struct log_descriptor descriptor = {.dir = dirfd(dir), .name = entry->d_name};
        struct stat own;

        if (fstatat(dirfd(dir), entry->d_name, &own, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISLNK(own.st_mode) || !(own.st_mode & S_IWUSR) ||
            fstatat(dirfd(dir), entry->d_name, &descriptor.st, 0) < 0)
            continue;
        descriptor.is_read = own.st_mode & S_IRUSR;
        r = found(&descriptor, userdata);
    }
    return r;
}

int log_search_open(const struct log_descriptor *descriptor)
{
    return S_ISREG(descriptor->st.st_mode) && !descriptor->is_read
               ? openat(descriptor->dir, descriptor->name,
                        O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
               : -1;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int compare_file(const struct log_descriptor *descriptor, void *userdata)
{
    return is_same(&descriptor->st, userdata);
}

bool log_search_is_open(pid_t pid, const struct stat *st)
{
    struct stat wanted = *st;

    return log_search_foreach_writable(pid, compare_file, &wanted) != 0;
}

/* ---- Its log ---- */

static void add(struct log_search *search, int fd)
{
    struct stat st, other;

    if (fd < 0 || fstat(fd, &st) < 0 || search->n == LOG_SEARCH_MAX) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (unsigned i = 0; i < search->n; i++)
        if (fstat(search->files[i].fd, &other) == 0 && is_same(&st, &other)) {
            close(fd);
            return;
        }
    search->files[search->n++] = (struct log_search_file){.fd = fd, .size = (uint64_t)st.st_size};
}

static int add_file(const struct log_descriptor *descriptor, void *userdata)
{
    add(userdata, log_search_open(descriptor));
    return 0;
}

void log_search_begin(pid_t pid, int own, struct log_search *ret)
{
    char path[64];

    ret->n = 0;
    /* A descriptor with an offset of its own. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", own);
    if (own >= 0)
        add(ret, open(path, O_RDONLY | O_CLOEXEC));
    (void)log_search_foreach_writable(pid, add_file, ret);
}

/* Where the last line of EVENT ends behind SIZE; 0: there is none. */
static uint64_t find_line(int fd, uint64_t size, const char *event)
{
    _cleanup_free_ char *text = NULL;
    uint64_t begin = size, found = 0;
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size <= size)
        return 0;
    if ((uint64_t)st.st_size - begin > SEARCHED_MAX)
        begin = (uint64_t)st.st_size - SEARCHED_MAX;
    text = malloc(SEARCHED_MAX);
    n = text ? pread(fd, text, SEARCHED_MAX, (off_t)begin) : -1;
    for (const char *p = text; n > 0 && p < text + n;) {
        const char *at = memmem(p, (size_t)(text + n - p), event, strlen(event));
        const char *newline = at ? memchr(at, '\n', (size_t)(text + n - at)) : NULL;

        if (!newline)
            break;
        found = begin + (uint64_t)(newline + 1 - text);
        p = newline + 1;
    }
    return found;
}

int log_search_end(struct log_search *search, const char *event)
{
    for (unsigned i = 0; i < search->n; i++) {
        uint64_t end = find_line(search->files[i].fd, search->files[i].size, event);
        int fd = search->files[i].fd;

        if (end == 0 || lseek(fd, (off_t)end, SEEK_SET) < 0)
            continue;
        search->files[i] = search->files[--search->n];
        return fd;
    }
    return -1;
}

void log_search_done(struct log_search *search)
{
    for (unsigned i = 0; i < search->n; i++)
        close(search->files[i].fd);
    search->n = 0;
}

/* ---- Another QEMU with the same log ---- */

bool log_search_has_pids(pid_t pid)
{
    struct stat its, own;
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/ns/pid", (long)pid);
    return stat(path, &its) == 0 && stat("/proc/self/ns/pid", &own) == 0 && is_same(&its, &own);
}

struct sharing {
    pid_t pid;
    struct stat st;
};

static int compare_process(const struct qemu_process *process, void *userdata)
{
    struct sharing *sharing = userdata;

    return process->pid != sharing->pid &&
                   log_search_foreach_writable(process->pid, compare_file, &sharing->st) > 0
               ? process->pid
               : 0;
}

pid_t log_search_sharer(pid_t pid, int fd)
{
    struct sharing sharing = {.pid = pid};

    return fstat(fd, &sharing.st) < 0 ? 0 : MAX(qemu_process_foreach(compare_process, &sharing), 0);
}
