/* SPDX-License-Identifier: MIT */
#include "gen/output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int could_not(struct error *error, int err, const char *path, const char *what)
{
    return error_set(error, err, path, "cannot %s: %s", what, strerror(-err));
}

/* Whether the file holds just these bytes. Where it cannot be read, it does not. */
static bool holds(const char *path, const struct stat *st, const char *data, size_t size)
{
    char piece[16 * 1024];
    size_t at = 0;
    int fd;

    if ((uint64_t)st->st_size != size)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || (size_t)n > size - at || memcmp(piece, data + at, (size_t)n) != 0)
            break;
        at += (size_t)n;
    }
    close(fd);
    return at == size;
}

static int write_in_place(const char *path, const char *data, size_t size, struct error *error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return could_not(error, -errno, path, "open");
    r = write_all(fd, data, size);
    if (close(fd) < 0 && r >= 0)
        r = -errno;
    return r < 0 ? could_not(error, r, path, "write") : 0;
}

/* Creates a file of a name of its own beside PATH, into TEMPORARY. The descriptor. */
static int open_beside(const char *path, mode_t mode, char *temporary, size_t size)
{
    for (unsigned i = 0; i < 100; i++) {
        struct timespec now;
        int fd;

        clock_gettime(CLOCK_REALTIME, &now);
        if ((size_t)snprintf(temporary, size, "%s.%lx%lx%x", path, (unsigned long)getpid(),
                             (unsigned long)now.tv_nsec, i) >= size)
            return -ENAMETOOLONG;
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* PATH must not be a symbolic link. ST: of the existing file, or NULL. */
static int replace(const char *path, const struct stat *st, const char *data, size_t size,
                   struct error *error)
{
    char temporary[PATH_MAX];
    int fd, r;

    fd = open_beside(path, 0666, temporary, sizeof temporary);
    if (fd < 0)
        return could_not(error, fd, path, "create");
    r = write_all(fd, data, size);
    /* Who may read it stays as it was, where that is allowed. */
    if (r >= 0 && st && fchmod(fd, st->st_mode & 0777) < 0)
        r = -errno;
    if (close(fd) < 0 && r >= 0)
        r = -errno;
    if (r >= 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(temporary);
    return r < 0 ? could_not(error, r, path, "write") : 0;
}

int output_write(const char *path, const char *data, size_t size, struct error *error)
{
    _cleanup_free_ char *target = NULL;
    struct stat st;
    int r;

    if (is_standard(path)) {
        r = write_all(STDOUT_FILENO, data, size);
        return r < 0 ? could_not(error, r, "standard output", "write") : 0;
    }
    if (stat(path, &st) < 0)
        return errno == ENOENT ? replace(path, NULL, data, size, error)
                               : could_not(error, -errno, path, "write");
    if (S_ISDIR(st.st_mode))
        return could_not(error, -EISDIR, path, "write");
    if (!S_ISREG(st.st_mode))
        return write_in_place(path, data, size, error);
    if (holds(path, &st, data, size))
        return 0;
    target = realpath(path, NULL); /* through links: they stay */
    if (!target)
        return could_not(error, -errno, path, "write");
    r = replace(target, &st, data, size, error);
    return r;
}

bool output_is_input(const char *path, const char *const *inputs, unsigned n)
{
    struct stat out, in;

    if (is_standard(path) || stat(path, &out) < 0 ||
        !(S_ISREG(out.st_mode) || S_ISDIR(out.st_mode)))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!is_standard(inputs[i]) && stat(inputs[i], &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return true;
    return false;
}

/* As Make reads it: a backslash before blanks and '#', '$' twice. */
static void put_name(struct text *text, const char *name)
{
    for (const char *p = name; *p; p++) {
        if (*p == ' ' || *p == '\t' || *p == '#') {
            /* Backslashes in front of a blank stand for themselves only when doubled. */
            for (const char *q = p; q > name && q[-1] == '\\'; q--)
                text_put_char(text, '\\');
            text_put_char(text, '\\');
        } else if (*p == '$') {
            text_put_char(text, '$');
        }
        text_put_char(text, *p);
    }
}

int output_write_depfile(const char *path, const char *target, const char *const *inputs,
                         unsigned n, struct error *error)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    put_name(&text, target);
    text_put_char(&text, ':');
    for (unsigned i = 0; i < n; i++) {
        if (is_standard(inputs[i]))
            continue;
        text_put_literal(&text, " \\\n  ");
        put_name(&text, inputs[i]);
    }
    text_put_char(&text, '\n');
    if (text.error)
        return error_set(error, text.error, path, "out of memory");
    return output_write(path, text.start, text_len(&text), error);
}
