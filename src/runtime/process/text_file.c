/* SPDX-License-Identifier: MIT */
#include "runtime/process/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/process/file.h"

/* Paths are read without a lock, and so stay. There are as many as a user names. */
struct kept_path {
    struct kept_path *next;
    char text[];
};

static const char *keep_path(const char *path)
{
    static _Atomic(struct kept_path *) first;
    size_t size = strlen(path) + 1;
    struct kept_path *kept;

    for (kept = atomic_load(&first); kept; kept = kept->next)
        if (strcmp(kept->text, path) == 0)
            return kept->text;
    kept = malloc(sizeof(*kept) + size);
    if (!kept)
        return NULL;
    memcpy(kept->text, path, size);
    kept->next = atomic_load(&first);
    while (!atomic_compare_exchange_weak(&first, &kept->next, kept))
        ;
    return kept->text;
}

static struct descriptor get(const struct text_file *file)
{
    struct descriptor descriptor = {
        .fd = atomic_load_explicit(&file->fd, memory_order_acquire),
        .device = (dev_t)atomic_load_explicit(&file->device, memory_order_relaxed),
        .inode = (ino_t)atomic_load_explicit(&file->inode, memory_order_relaxed),
        .kind = (enum descriptor_kind)atomic_load_explicit(&file->kind, memory_order_relaxed),
        .shared = atomic_load_explicit(&file->shared, memory_order_relaxed),
    };

    return descriptor;
}

static void put(struct text_file *file, const struct descriptor *descriptor)
{
    atomic_store_explicit(&file->fd, -1, memory_order_relaxed);
    atomic_store_explicit(&file->device, descriptor->device, memory_order_release);
    atomic_store_explicit(&file->inode, descriptor->inode, memory_order_release);
    atomic_store_explicit(&file->kind, (int)descriptor->kind, memory_order_release);
    atomic_store_explicit(&file->shared, descriptor->shared, memory_order_release);
    /* Release: a thread that sees the descriptor's number also sees its device, inode and kind. */
    atomic_store_explicit(&file->fd, descriptor->fd, memory_order_release);
}

/* Another thread that holds `busy` will release it soon. A thread that our caller has interrupted will not, nor will a
 * thread that a child of fork() does not have. So this does not wait forever. */
static void replace(struct text_file *file, const struct descriptor *descriptor)
{
    for (unsigned i = 0; i < 1000 && atomic_flag_test_and_set(&file->busy); i++)
        sched_yield();
    put(file, descriptor);
    atomic_flag_clear(&file->busy);
}

int text_file_open_literal(struct text_file *file, const char *path, enum file_mode mode)
{
    struct descriptor fresh, before = get(file);
    int r = file_open(&fresh, path, mode);

    if (r < 0)
        return r;
    /* Other threads may be about to write to the number that they have just asked about: it becomes that
     * of the new file. */
    if (!before.shared && descriptor_is_ours(&before) &&
        dup3(fresh.fd, before.fd, O_CLOEXEC) >= 0) {
        close(fresh.fd);
        fresh.fd = before.fd;
    }
    atomic_store(&file->mode, (int)mode);
    atomic_store(&file->path, path);
    replace(file, &fresh);
    return 0;
}

int text_file_open(struct text_file *file, const char *path, enum file_mode mode)
{
    const char *kept = keep_path(path);

    return kept ? text_file_open_literal(file, kept, mode) : -ENOMEM;
}

int text_file_share(struct text_file *file, int fd)
{
    struct descriptor descriptor;
    int r = descriptor_share(&descriptor, fd);

    if (r < 0)
        return r;
    atomic_store(&file->path, NULL);
    replace(file, &descriptor);
    return 0;
}

/* Opens the file once more, for all or, while another thread does that, for this call. */
static int come_back(struct text_file *file, struct descriptor *ret, bool *ret_mine)
{
    const char *path = atomic_load_explicit(&file->path, memory_order_relaxed);
    int r;

    if (!path)
        return -EBADF;
    r = file_open(ret, path, (enum file_mode)atomic_load(&file->mode));
    if (r < 0)
        return r;
    *ret_mine = atomic_flag_test_and_set(&file->busy);
    if (!*ret_mine) {
        put(file, ret);
        atomic_flag_clear(&file->busy);
    }
    return 0;
}

/* How many of LEN bytes the process may write: a write at the limit of a file's size would end it by SIGXFSZ. */
static size_t within_limit(const struct descriptor *descriptor, size_t len)
{
    struct rlimit limit;
    struct stat st;
    off_t at;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        fstat(descriptor->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return len;
    at =
        fcntl(descriptor->fd, F_GETFL) & O_APPEND ? st.st_size : lseek(descriptor->fd, 0, SEEK_CUR);
    if (at < 0)
        return len;
    return (rlim_t)at < limit.rlim_cur ? (size_t)MIN((rlim_t)len, limit.rlim_cur - (rlim_t)at) : 0;
}

static ssize_t write_text(const struct text_file *file, const struct descriptor *descriptor,
                          const char *text, size_t len)
{
    struct iovec piece = {(void *)text, len};

    /* The kernel's marker has no size. */
    if (descriptor->kind == DESCRIPTOR_PLAIN && atomic_load(&file->mode) != FILE_MARKER)
        piece.iov_len = within_limit(descriptor, len);
    return piece.iov_len > 0 || len == 0 ? descriptor_write(descriptor, &piece, 1) : -EFBIG;
}

ssize_t text_file_write(struct text_file *file, const char *text, size_t len)
{
    struct descriptor descriptor = get(file);
    int saved_errno = errno;
    bool mine = false;
    ssize_t written;
    int r = 0;

    if (unlikely(!descriptor_is_ours(&descriptor)))
        r = come_back(file, &descriptor, &mine);
    written = r < 0 ? r : write_text(file, &descriptor, text, len);
    if (mine)
        close(descriptor.fd);
    errno = saved_errno;
    return written;
}

bool text_file_is_open(const struct text_file *file)
{
    struct descriptor descriptor = get(file);

    return descriptor_is_ours(&descriptor);
}

bool text_file_cut(const struct text_file *file, size_t n)
{
    struct descriptor descriptor = get(file);
    struct stat st;
    off_t end;

    if (descriptor.kind != DESCRIPTOR_PLAIN || descriptor.shared ||
        !descriptor_is_ours(&descriptor) || fstat(descriptor.fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    end = lseek(descriptor.fd, 0, SEEK_CUR);
    return end >= (off_t)n && end == st.st_size && ftruncate(descriptor.fd, end - (off_t)n) == 0;
}

size_t text_file_whole(const struct text_file *file)
{
    return atomic_load_explicit(&file->kind, memory_order_relaxed) == DESCRIPTOR_PLAIN
               ? SIZE_MAX
               : 4096 /* PIPE_BUF */;
}

void text_file_wait(struct text_file *file, unsigned ms)
{
    struct descriptor descriptor = get(file);

    descriptor_wait(&descriptor, ms);
}
