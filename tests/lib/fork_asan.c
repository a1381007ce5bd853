/* SPDX-License-Identifier: MIT */

/* What a build with AddressSanitizer has besides, in programs and in libstrata: a fork() waits until the other threads of
 * the process sleep.
 *
 * libc's allocator is held over fork(), that of AddressSanitizer (gcc 12) is not: where another thread was in it, at its
 * start for example, the child's first allocation waits for ever. Threads that never sleep are waited for a second. May
 * run in a signal handler: nothing here allocates. */

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 1000000L
#define PAUSES_MAX 1000

struct entry { /* as getdents64() writes them */
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* Whether the thread of the directory TASK called NAME runs, or waits for a processor, memory or a disk. */
static bool runs(int task, const char *name)
{
    char path[32], text[512];
    const char *state;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%.20s/stat", name);
    fd = openat(task, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; /* it has ended */
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    state = strrchr(text, ')');
    return state && state[1] == ' ' && (state[2] == 'R' || state[2] == 'D');
}

static bool others_run(void)
{
    uint64_t bytes[512];
    char self[16];
    bool any = false;
    long n;
    int task = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (task < 0)
        return false;
    snprintf(self, sizeof(self), "%ld", (long)syscall(SYS_gettid));
    while (!any && (n = syscall(SYS_getdents64, task, bytes, sizeof(bytes))) > 0) {
        for (long at = 0; at < n && !any;) {
            const struct entry *entry = (const struct entry *)((const char *)bytes + at);

            any =
                entry->name[0] != '.' && strcmp(entry->name, self) != 0 && runs(task, entry->name);
            at += entry->length;
        }
    }
    close(task);
    return any;
}

static void before_fork(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    for (unsigned i = 0; i < PAUSES_MAX && others_run(); i++)
        nanosleep(&pause, NULL);
}

/* Without a priority, so after libstrata's own: what is registered last runs first, before locks are taken. */
static void __attribute__((constructor)) begin(void)
{
    pthread_atfork(before_fork, NULL, NULL);
}
