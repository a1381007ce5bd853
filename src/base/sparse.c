/* SPDX-License-Identifier: MIT */
#include "base/sparse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* No block of a file system is larger. */
#define BLOCK_MAX ((size_t)64 * 1024)

uint64_t sparse_begin(int fd)
{
    uint8_t block[4096];
    off_t before = lseek(fd, 0, SEEK_CUR);
    off_t at = before < 0 ? -1 : lseek(fd, 0, SEEK_DATA);
    uint64_t begin;

    if (before >= 0 && at < 0 && errno == ENXIO)
        at = lseek(fd, 0, SEEK_END);
    begin = at > 0 ? (uint64_t)at : 0;
    if (before >= 0)
        (void)lseek(fd, before, SEEK_SET);
    for (uint64_t end = begin + BLOCK_MAX; begin > 0 && begin < end;) {
        ssize_t n = pread(fd, block, sizeof block, (off_t)begin);
        size_t i = 0;

        while (n > 0 && i < (size_t)n && block[i] == 0)
            i++;
        begin += i;
        if (n <= 0 || i < (size_t)n)
            break;
    }
    return begin;
}

bool sparse_is_empty(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    return sparse_begin(fd) >= (uint64_t)st.st_size;
}

static int punch(int fd, uint64_t from, uint64_t to)
{
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                     (off_t)(to - from)) < 0
               ? -errno
               : 0;
}

int sparse_release(int fd, uint64_t from, uint64_t offset)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    /* In less than a block there is no hole, and zero bytes alone are no beginning to a reader. */
    if (offset <= from || offset < (uint64_t)st.st_blksize)
        return 0;
    return punch(fd, from - from % BLOCK_MAX, offset);
}

int sparse_check(int dir)
{
    _cleanup_(closep) int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    static const uint8_t bytes[3 * 4096] = {1};
    int r;

    if (fd < 0)
        return -errno;
    r = write_all(fd, bytes, sizeof bytes);
    return r < 0 ? r : punch(fd, 0, 4096 + 1);
}
