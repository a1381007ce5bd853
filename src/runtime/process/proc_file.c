/* SPDX-License-Identifier: MIT */
#include "runtime/process/proc_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/scratch_buffer.h"

void proc_read(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, buf, size - 1);

    if (fd >= 0)
        close(fd);
    buf[got > 0 ? got : 0] = '\0';
}

/* The text of PATH, /proc/PID/stat, after the name, which is in parentheses and may hold anything: it begins
 * with " STATE", the third field. NULL without /proc, or such a process. */
static const char *read_stat_of(const char *path, char *buf, size_t size)
{
    const char *end;

    proc_read(path, buf, size);
    end = strrchr(buf, ')');
    return end ? end + 1 : NULL;
}

static const char *read_stat(char *buf, size_t size)
{
    return read_stat_of("/proc/self/stat", buf, size);
}

/* The start of AT, which read_stat_of() returned. */
static uint64_t start_in(const char *at)
{
    uint64_t n = 0;
    int fields = 2; /* up to AT */

    for (; at && *at && fields < 22; at++)
        fields += *at == ' ';
    for (; at && *at >= '0' && *at <= '9'; at++)
        n = n * 10 + (uint64_t)(*at - '0');
    return n;
}

uint64_t proc_start_time(void)
{
    char *buf = scratch_buffer_get(); /* as it is asked for by a thread's first event */
    uint64_t n = buf ? start_in(read_stat(buf, SCRATCH_SIZE)) : 0;

    scratch_buffer_put(buf);
    return n;
}

uint64_t proc_start_of(pid_t pid)
{
    long ticks_per_second = sysconf(_SC_CLK_TCK);
    char path[40], buf[1024];
    const char *at;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    at = read_stat_of(path, buf, sizeof(buf));
    if (!at || at[0] != ' ' || at[1] == 'Z' || at[1] == 'X' || ticks_per_second <= 0)
        return 0;
    return start_in(at) * UINT64_C(1000000000) / (uint64_t)ticks_per_second;
}

uint64_t proc_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

char proc_main_thread_state(void)
{
    char buf[512];
    const char *at = read_stat(buf, sizeof(buf));

    return at && *at == ' ' ? at[1] : '\0';
}

unsigned proc_thread_count(void)
{
    struct stat st;

    /* Each directory in it is a link to it. */
    return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? (unsigned)st.st_nlink - 2 : 0;
}
