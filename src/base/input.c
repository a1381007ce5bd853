/* SPDX-License-Identifier: MIT */
#include "base/input.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sparse.h"

int input_open(struct input *in, const char *path, size_t capacity, struct error *error)
{
    int fd;

    if (strcmp(path, "-") == 0) {
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        path = "standard input";
    } else {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (fd < 0)
        return error_set(error, -errno, path, "cannot open it: %s", strerror(errno));
    return input_open_fd(in, fd, path, capacity, error);
}

int input_open_regular(struct input *in, const char *path, size_t capacity, struct error *error)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    int flags;

    if (fd < 0)
        return error_set(error, -errno, path,
                         errno == ELOOP ? "is a link, which is not followed in a trace"
                                        : "cannot open it: %s",
                         strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(error, -EINVAL, path, "is not a regular file");
    }
    /* The kernel's trace_pipe_raw is a regular file that may block. */
    flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return input_open_fd(in, fd, path, capacity, error);
}

int input_open_fd(struct input *in, int fd, const char *name, size_t capacity, struct error *error)
{
    struct input opened = {.fd = fd, .owns_fd = true, .capacity = capacity, .size = UINT64_MAX};
    struct stat st;

    if (fstat(fd, &st) < 0) {
        int err = -errno;
        close(fd);
        return error_set(error, err, name, "cannot look at it: %s", strerror(-err));
    }
    if (S_ISDIR(st.st_mode)) {
        close(fd);
        return error_set(error, -EISDIR, name, "is a directory, not a file");
    }
    if (S_ISREG(st.st_mode)) {
        off_t at = lseek(fd, 0, SEEK_CUR);

        if (at == 0 && (at = (off_t)sparse_begin(fd)) > 0) {
            at = lseek(fd, at, SEEK_SET);
            opened.is_released = true;
        }
        opened.seekable = at >= 0;
        opened.offset = at >= 0 ? (uint64_t)at : 0;
        opened.size = (uint64_t)st.st_size;
    }

    opened.buf = malloc(capacity);
    opened.path = strdup(name);
    if (!opened.buf || !opened.path) {
        input_done(&opened);
        return error_set(error, -ENOMEM, name, "out of memory");
    }
    *in = opened;
    return 0;
}

int input_open_memory(struct input *in, const void *p, size_t size, const char *name)
{
    struct input opened = {.fd = -1, .capacity = size, .filled = size, .size = size, .ended = true};

    opened.buf = malloc(size ? size : 1);
    opened.path = strdup(name);
    if (!opened.buf || !opened.path) {
        input_done(&opened);
        return -ENOMEM;
    }
    /* A copy of exactly this size, so that a sanitizer detects reads past the end. */
    if (size)
        memcpy(opened.buf, p, size);
    opened.seekable = true;
    *in = opened;
    return 0;
}

int input_grow(struct input *in, size_t capacity)
{
    uint8_t *buf;

    if (in->fd < 0 || capacity <= in->capacity)
        return 0;
    buf = realloc(in->buf, capacity);
    if (!buf)
        return -ENOMEM;
    in->buf = buf;
    in->capacity = capacity;
    return 0;
}

void input_done(struct input *in)
{
    if (in->owns_fd)
        close(in->fd);
    free(in->buf);
    free(in->path);
    *in = (struct input){.fd = -1};
}

/* How many of the N bytes at OFFSET may be read. */
static size_t room_before_end(const struct input *in, uint64_t offset, size_t n)
{
    if (likely(!in->is_fixed))
        return n;
    return offset < in->size ? (size_t)MIN((uint64_t)n, in->size - offset) : 0;
}

/* More may be released between the look for the first data and the first read, which then finds zeros: true if so. Reading
 * goes on where the data begin now. */
static bool is_released_further(struct input *in)
{
    uint64_t begin;

    if (!in->is_released)
        return false;
    in->is_released = in->filled > 0 && in->buf[0] == 0;
    if (!in->is_released)
        return false;
    begin = sparse_begin(in->fd);
    if (begin <= in->offset || lseek(in->fd, (off_t)begin, SEEK_SET) < 0)
        return false;
    in->offset = begin;
    in->filled = 0;
    return true;
}

static int read_more(struct input *in, struct error *error)
{
    for (;;) {
        size_t room = in->capacity - in->filled;
        ssize_t n;

        if (in->read_max > 0)
            room = MIN(room, in->read_max);
        room = room_before_end(in, in->offset + in->filled, room);
        n = room > 0 ? read(in->fd, in->buf + in->filled, room) : 0;
        if (n > 0) {
            in->filled += (size_t)n;
            if (unlikely(is_released_further(in)))
                continue;
            return 1;
        }
        if (n == 0) {
            in->ended = true;
            return 0;
        }
        if (errno != EINTR)
            return error_at(error, -errno, in->path, in->offset + in->filled, "cannot read on: %s",
                            strerror(errno));
    }
}

static void move_to_front(struct input *in)
{
    size_t left = input_buffered(in);

    if (in->next == 0 || in->fd < 0)
        return;
    memmove(in->buf, in->buf + in->next, left);
    in->offset += in->next;
    in->next = 0;
    in->filled = left;
}

int input_fill(struct input *in, size_t n, struct error *error)
{
    if (n > in->capacity)
        return in->fd < 0 ? 0 : -ENOBUFS;
    move_to_front(in);
    while (input_buffered(in) < n) {
        int r = in->ended ? 0 : read_more(in, error);
        if (r <= 0)
            return r;
    }
    return 1;
}

int input_refill(struct input *in, struct error *error)
{
    move_to_front(in);
    if (!in->ended && in->filled < in->capacity) {
        int r = read_more(in, error);
        if (r < 0)
            return r;
    }
    return input_buffered(in) > 0;
}

int input_read_file(int fd, size_t size, const char *path, char **ret, size_t *ret_len,
                    struct error *error)
{
    _cleanup_free_ char *bytes = malloc(size + 1);
    size_t len = 0;

    if (!bytes)
        return error_set(error, -ENOMEM, path, "out of memory");
    while (len < size) {
        ssize_t n = read(fd, bytes + len, size - len);

        if (n == 0)
            break;
        if (n > 0)
            len += (size_t)n;
        else if (errno != EINTR)
            return error_set(error, -errno, path, "cannot read it: %s", strerror(errno));
    }
    *ret = TAKE_PTR(bytes);
    *ret_len = len;
    return 0;
}

int input_open_whole(struct input *ret, const char *path, size_t max, const char *wanted,
                     struct error *error)
{
    struct input in;
    int r = input_open(&in, path, max, error);

    if (r < 0)
        return r;
    do
        r = input_refill(&in, error);
    while (r > 0 && !in.ended && input_buffered(&in) < max);
    if (r >= 0 && input_buffered(&in) == max)
        r = error_set(error, -EFBIG, path, "is larger than %zu MB: not %s", max >> 20, wanted);
    if (r < 0) {
        input_done(&in);
        return r;
    }
    *ret = in;
    return 0;
}

int input_seek(struct input *in, uint64_t offset, struct error *error)
{
    if (offset >= in->offset && offset - in->offset <= in->filled) {
        in->next = (size_t)(offset - in->offset);
        return 0;
    }
    if (in->fd < 0) {
        in->next = in->filled;
        return 0;
    }
    if (in->seekable) {
        if (offset > INT64_MAX || lseek(in->fd, (off_t)offset, SEEK_SET) < 0)
            return error_at(error, -EINVAL, in->path, offset, "cannot go there");
        in->offset = offset;
        in->next = in->filled = 0;
        in->ended = in->is_released = false;
        return 0;
    }
    if (offset < in->offset)
        return error_at(error, -ESPIPE, in->path, offset, "a pipe cannot be read backwards");
    while (in->offset + in->filled < offset) {
        int r;
        in->next = in->filled;
        r = input_refill(in, error);
        if (r <= 0)
            return r;
    }
    in->next = (size_t)(offset - in->offset);
    return 0;
}

int64_t input_read_at(const struct input *in, uint64_t offset, void *p, size_t n,
                      struct error *error)
{
    size_t done = 0;

    if (in->fd < 0) {
        if (offset >= in->filled)
            return 0;
        n = MIN(n, in->filled - (size_t)offset);
        memcpy(p, in->buf + offset, n);
        return (int64_t)n;
    }
    n = room_before_end(in, offset, n);
    while (done < n) {
        ssize_t got = pread(in->fd, (uint8_t *)p + done, n - done, (off_t)(offset + done));
        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return error_at(error, -errno, in->path, offset + done, "cannot read: %s",
                            strerror(errno));
    }
    return (int64_t)done;
}

int input_load_at(const struct input *in, uint64_t offset, size_t size, char **ret, size_t *ret_len)
{
    _cleanup_free_ char *copy = NULL;
    size_t done = 0, capacity = 0;

    do {
        int64_t n;

        if (done == capacity) {
            char *bigger;

            capacity = MIN(size, capacity ? capacity * 2 : (size_t)1024 * 1024);
            bigger = realloc(copy, capacity + 1);
            if (!bigger)
                return -ENOMEM;
            copy = bigger;
        }
        n = input_read_at(in, offset + done, copy + done, capacity - done, NULL);
        if (n < 0)
            return (int)n;
        if (n == 0 && size > 0)
            return -EBADMSG;
        done += (size_t)n;
    } while (done < size);
    copy[size] = '\0';
    *ret_len = size;
    *ret = TAKE_PTR(copy);
    return 0;
}
