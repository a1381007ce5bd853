/* SPDX-License-Identifier: MIT */
#include "runtime/ring/reserve_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096U

bool reserve_pages(void *bytes, size_t size)
{
    int saved_errno = errno;
    int r;

    do
        r = madvise(bytes, size, MADV_POPULATE_WRITE);
    while (r < 0 && (errno == EINTR || errno == EAGAIN));
    errno = saved_errno;
    return r == 0;
}

/* Kernels before 5.14 cannot: there all pages are touched when the ring is made. */
bool reserve_is_supported(void)
{
    static atomic_int can; /* 0: not known yet, 1: yes, 2: no */
    int now = atomic_load(&can);

    if (now == 0) {
        void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
            return false;
        now = reserve_pages(page, PAGE) ? 1 : 2;
        munmap(page, PAGE);
        atomic_store(&can, now);
    }
    return now == 1;
}

bool reserve_pages_by_touch(void *bytes, size_t size)
{
    if (reserve_is_supported())
        return reserve_pages(bytes, size);
    for (size_t i = 0; i < size; i += PAGE)
        ((volatile uint8_t *)bytes)[i] = 0;
    return true;
}

/* Makes FD's file LENGTH bytes long where it is shorter: by appending, which shortens nothing that another thread appends
 * meanwhile. */
static int file_append_to(int fd, uint64_t length)
{
    static const uint8_t zeros[PAGE];
    struct stat st;

    if (fcntl(fd, F_SETFL, O_APPEND) < 0)
        return -errno;
    while (fstat(fd, &st) == 0) {
        uint64_t size = (uint64_t)st.st_size;

        if (size >= length)
            return 0;
        if (write(fd, zeros, length - size < PAGE ? (size_t)(length - size) : PAGE) < 0 &&
            errno != EINTR)
            break;
    }
    return -errno;
}

static int file_take_all(int fd, uint64_t length)
{
    do
        if (fallocate(fd, 0, 0, (off_t)length) == 0)
            return 0;
    while (errno == EINTR);
    return errno == EOPNOTSUPP ? file_append_to(fd, length) : -errno;
}

int reserve_file_space(int fd, uint64_t length, uint64_t first)
{
    struct rlimit limit;

    /* Beyond, the kernel would end the program by SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && length > limit.rlim_cur)
        return -EFBIG;
    /* Never shorter than another thread has made it meanwhile. */
    if (first == length)
        return file_take_all(fd, length);
    /* At once: a reader that maps the file before it has its whole length would take it for damaged. */
    if (ftruncate(fd, (off_t)length) < 0)
        return -errno;
    do
        if (fallocate(fd, 0, 0, (off_t)first) == 0)
            return 0;
    while (errno == EINTR);
    return errno == EOPNOTSUPP ? 0 : -errno;
}
