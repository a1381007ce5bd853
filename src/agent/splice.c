/* SPDX-License-Identifier: MIT */
#include "agent/splice.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/tracefs.h"
#include "base/bytes.h"

/* The feature bit of a virtio device with indirect descriptors. Source: Virtual I/O Device 1.2, 6 "Reserved
 * Feature Bits". */
#define INDIRECT_DESC 28
/* In a page's commit field: events were lost before this page (see format/ftrace/page.h). */
#define MISSED UINT32_C(0x80000000)

bool splice_supported(int fd)
{
    char path[128], features[INDIRECT_DESC + 1];
    struct stat st;
    ssize_t n;
    int file;

    if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
        return false;
    /* One character per bit, the lowest bit first. */
    snprintf(path, sizeof path, "/sys/dev/char/%u:%u/device/features", major(st.st_rdev),
             minor(st.st_rdev));
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    n = read(file, features, sizeof features);
    close(file);
    return n == sizeof features && features[INDIRECT_DESC] == '1';
}

int splice_out(int pipe, int fd, size_t size, size_t *ret_sent)
{
    size_t sent = 0;
    int r = 1, left;

    while (sent < size) {
        ssize_t n = splice(pipe, NULL, fd, NULL, size - sent, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

        if (n > 0) {
            sent += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        r = n < 0 && errno != EAGAIN ? -errno : 0;
        if (ioctl(pipe, FIONREAD, &left) < 0 || (size_t)left != size - sent)
            r = -ENOBUFS;
        break;
    }
    *ret_sent = sent;
    return r;
}

int splice_read(int pipe, void *p, size_t size)
{
    uint8_t *next = p;

    while (size > 0) {
        ssize_t n = read(pipe, next, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        next += n;
        size -= (size_t)n;
    }
    return 0;
}

void splice_fill_lost(const struct tracefs_page *page, uint8_t *p, unsigned n, uint64_t time)
{
    for (unsigned i = 0; i < n; i++, p += page->size) {
        memset(p, 0, page->size);
        store_u64(p, time);
        if (page->commit_size == 8)
            store_u64(p + page->commit, MISSED);
        else
            store_u32(p + page->commit, MISSED);
    }
}
