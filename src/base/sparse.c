/* SPDX-License-Identifier: MIT */
#include "base/sparse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/unnamed_file.h"

/* No block of a file system is larger. */
#define BLOCK_MAX ((size_t)64 * 1024)
/* Fewer zero bytes may be the beginning of something. No format that is read begins with as many. */
#define ZEROS_MIN ((size_t)4096)

/* The first byte of FD from BEGIN on that is not zero, where a whole block of zeros may be passed over; SIZE: there is none. */
static uint64_t pass_zeros(int fd, uint64_t begin, uint64_t size)
{
    uint8_t block[16 * ZEROS_MIN];
    bool has_hole = begin > 0;

    while (begin < size) {
        ssize_t n = pread(fd, block, has_hole ? sizeof block : ZEROS_MIN, (off_t)begin);
        size_t i = 0;
        off_t data;

        while (n > 0 && i < (size_t)n && block[i] == 0)
            i++;
        if (n <= 0 || (!has_hole && i < ZEROS_MIN))
            break;
        has_hole = true;
        begin += i;
        if (i < (size_t)n)
            break;
        data = lseek(fd, (off_t)begin, SEEK_DATA);
        if (data > 0 || errno == ENXIO)
            begin = data > 0 ? (uint64_t)data : size;
    }
    return begin;
}

uint64_t sparse_begin(int fd)
{
    off_t before = lseek(fd, 0, SEEK_CUR);
    struct stat st;
    uint64_t begin;
    off_t at;

    /* What the kernel makes as it is read says that its size is 0, and its reading is not repeated. */
    if (before < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)ZEROS_MIN)
        return 0;
    at = lseek(fd, 0, SEEK_DATA);
    if (at < 0 && errno == ENXIO)
        at = st.st_size;
    begin = pass_zeros(fd, at > 0 ? (uint64_t)at : 0, (uint64_t)st.st_size);
    (void)lseek(fd, before, SEEK_SET);
    return begin;
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
    _cleanup_(closep) int fd = unnamed_file_open(dir, ".");
    static const uint8_t bytes[3 * 4096] = {1};
    int r;

    if (fd < 0)
        return fd;
    r = write_all(fd, bytes, sizeof bytes);
    return r < 0 ? r : punch(fd, 0, 4096 + 1);
}
