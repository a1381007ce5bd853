/* SPDX-License-Identifier: MIT */
#include "base/remove_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64() writes, which no header declares: byte 16 is the length of the entry, byte 19 its name. */
#define ENTRY_LENGTH 16
#define ENTRY_NAME 19

/* Removes the entries of the directory FD that one pass sees, and returns how many. System calls alone, as signal
 * handlers require; readdir() may allocate. */
static unsigned remove_entries(int fd);

void remove_dir_entries(int dir)
{
    /* Entries that one pass removes may hide others from it. */
    do
        lseek(dir, 0, SEEK_SET);
    while (remove_entries(dir) > 0);
}

bool remove_dir_at(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) {
        remove_dir_entries(fd);
        close(fd);
    }
    return unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static unsigned remove_entries(int fd)
{
    _Alignas(uint64_t) char entries[2048];
    unsigned removed = 0;
    long n;

    while ((n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < n;) {
            const char *name = entries + at + ENTRY_NAME;
            uint16_t length;

            memcpy(&length, entries + at + ENTRY_LENGTH, sizeof length);
            at += length;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                continue;
            if (unlinkat(fd, name, 0) == 0 || (errno == EISDIR && remove_dir_at(fd, name)))
                removed++;
        }
    return removed;
}
