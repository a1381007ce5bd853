/* SPDX-License-Identifier: MIT */
#include "agent/tracefs.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tracefs_find.h"

static int open_dir(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Mounts tracefs at its usual place, in a mount namespace of this process alone. */
static int mount_private(const char *path)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tracefs", path, "tracefs", 0, NULL) < 0)
        return -errno;
    return tracefs_open_mount(path);
}

int tracefs_open(const char *path, struct tracefs *ret_tracefs, struct error *error)
{
    struct tracefs found = {.fd = -1};
    const char *shut = NULL;
    int r;

    if (path) {
        found.fd = open_dir(path);
        if (found.fd < 0)
            return error_set(error, found.fd, path, "%s", strerror(-found.fd));
        snprintf(found.path, sizeof found.path, "%s", path);
        if (faccessat(found.fd, "per_cpu", F_OK, 0) < 0) {
            close(found.fd);
            return error_set(error, -ENOENT, path, "not a tracefs: it has no directory per_cpu");
        }
        *ret_tracefs = found;
        return 0;
    }

    r = tracefs_find(found.path, sizeof found.path, &shut);
    if (r < 0) {
        int err = tracefs_mount_detached();

        if (err < 0)
            r = mount_private(TRACEFS_USUAL);
        else
            r = err;
        if (r < 0 && shut)
            return error_set(error, -EACCES, shut,
                             "may not be entered; run as root, or let this user read tracefs");
        if (r < 0)
            return error_set(
                error, r, "",
                "tracefs is not mounted and cannot be (%s); as root: mount -t tracefs none %s",
                r == -ENODEV ? "this kernel has none" : strerror(-r), TRACEFS_USUAL);
        found.is_own = true;
        snprintf(found.path, sizeof found.path, "%s", TRACEFS_USUAL);
    }
    found.fd = r;
    if (faccessat(found.fd, "per_cpu/cpu0/trace_pipe_raw", R_OK, AT_EACCESS) < 0) {
        r = -errno;
        close(found.fd);
        return error_set(error, r, found.path,
                         "cannot read the trace (%s); run as root, or let this user read tracefs",
                         strerror(-r));
    }
    *ret_tracefs = found;
    return 0;
}

void tracefs_done(struct tracefs *tracefs)
{
    if (tracefs->fd >= 0)
        close(tracefs->fd);
    tracefs->fd = -1;
}

int tracefs_read(int dir, const char *file, size_t max, char **ret_text, size_t *ret_len)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0, capacity = 0;
    int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r = 0;

    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n;

        if (capacity - len < 4096) {
            char *bigger = realloc(text, capacity ? capacity * 2 : 16384);

            if (!bigger) {
                r = -ENOMEM;
                break;
            }
            text = bigger;
            capacity = capacity ? capacity * 2 : 16384;
        }
        n = read(fd, text + len, capacity - len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = -errno;
        if (n <= 0)
            break;
        len += (size_t)n;
        if (len > max) {
            r = -EFBIG;
            break;
        }
    }
    close(fd);
    if (r < 0)
        return r;
    text[len] = '\0';
    *ret_text = TAKE_PTR(text);
    *ret_len = len;
    return 0;
}

int tracefs_read_number(int dir, const char *file, uint64_t *ret_number)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    char *end;
    unsigned long long number;
    int r = tracefs_read(dir, file, 65536, &text, &len);

    if (r < 0)
        return r;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (end == text || errno)
        return -EBADMSG;
    *ret_number = number;
    return 0;
}

static int write_to(int dir, const char *file, int flags, const char *text)
{
    int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | flags);
    size_t len = strlen(text);
    ssize_t n;
    int r = 0;

    if (fd < 0)
        return -errno;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        r = -errno;
    else if ((size_t)n < len)
        r = -EIO;
    if (close(fd) < 0 && r >= 0)
        r = -errno;
    return r;
}

int tracefs_write(int dir, const char *file, const char *text)
{
    return write_to(dir, file, O_TRUNC, text);
}

int tracefs_append(int dir, const char *file, const char *text)
{
    return write_to(dir, file, O_APPEND, text);
}

int tracefs_write_number(int dir, const char *file, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return tracefs_write(dir, file, text);
}

/* A line of header_page: "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;". */
static bool find_field(const char *text, const char *name, size_t *ret_offset, size_t *ret_size)
{
    const char *at = strstr(text, name);
    unsigned long offset, size;

    if (!at || sscanf(at + strlen(name), " offset:%lu; size:%lu;", &offset, &size) != 2)
        return false;
    *ret_offset = offset;
    *ret_size = size;
    return true;
}

int tracefs_page(int dir, struct tracefs_page *ret_page, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    struct tracefs_page page;
    size_t len, size;
    int r = tracefs_read(dir, "events/header_page", 65536, &text, &len);

    if (r < 0)
        return error_set(error, r, "events/header_page", "%s", strerror(-r));
    if (!find_field(text, " commit;", &page.commit, &page.commit_size) ||
        !find_field(text, " data;", &page.data, &size) ||
        (page.commit_size != 4 && page.commit_size != 8) || page.commit > 64 || page.data > 64 ||
        page.commit + page.commit_size > page.data || size < 64 || size > (size_t)1 << 20)
        return error_set(error, -EBADMSG, "events/header_page", "invalid page layout");
    page.size = page.data + size;
    *ret_page = page;
    return 0;
}
