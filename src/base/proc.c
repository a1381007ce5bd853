/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"

int proc_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        n = -errno;
    close(fd);
    if (n < 0)
        return (int)n;
    buf[n] = '\0';
    return 0;
}

pid_t proc_number(const char *word)
{
    char *end;
    unsigned long pid = strtoul(word, &end, 10);

    return *word >= '0' && *word <= '9' && !*end && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* The content of the file stat of process PID in TEXT; *RET: what follows its second field, a name, which may contain anything. */
static int read_stat(pid_t pid, char *text, size_t size, char **ret)
{
    char path[64], *at;
    int r;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    r = proc_text(path, text, size);
    if (r < 0)
        return r;
    at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return -EBADMSG;
    *ret = at + 2;
    return 0;
}

/* The word with number N of the file stat, from 3 on; NULL: it has fewer. */
static char *find_word(char *at, unsigned n)
{
    for (unsigned i = 3; at && i < n; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

int proc_stat(pid_t pid, uint64_t *ret_start, char *ret_state)
{
    char text[1024], *at, *start;
    int r = read_stat(pid, text, sizeof text, &at);

    if (r < 0)
        return r;
    start = find_word(at, 22);
    if (!start)
        return -EBADMSG;
    *ret_start = strtoull(start, NULL, 10);
    *ret_state = *at;
    return 0;
}

int proc_cpu_time(pid_t pid, uint64_t *ret)
{
    char text[1024], *at, *user, *system;
    int r = read_stat(pid, text, sizeof text, &at);

    if (r < 0)
        return r;
    user = find_word(at, 14);
    system = find_word(at, 15);
    if (!system)
        return -EBADMSG;
    *ret = strtoull(user, NULL, 10) + strtoull(system, NULL, 10);
    return 0;
}

bool proc_has_kernel_numbers(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == UINT32_C(0xeffffffc);
}

bool proc_is_gone(int r)
{
    return r == -ENOENT || r == -ESRCH;
}

uint64_t proc_start_ns(uint64_t start)
{
    uint64_t hz = (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L);

    return start / hz * NSEC_PER_SEC + start % hz * (NSEC_PER_SEC / hz);
}

bool proc_began_after(pid_t pid, const struct timespec *moment)
{
    double ago, began;
    uint64_t start;
    char state;

    if (proc_stat(pid, &start, &state) < 0)
        return false;
    ago = (double)clock_ns(CLOCK_BOOTTIME) / 1e9 - (double)proc_start_ns(start) / 1e9;
    began = (double)clock_ns(CLOCK_REALTIME) / 1e9 - ago;
    return began > (double)moment->tv_sec + 1 + (double)moment->tv_nsec / 1e9;
}

unsigned long proc_inner_number(const char *text)
{
    const char *at = strstr(text, "\nNSpid:");
    const char *end = at ? strchrnul(at + 1, '\n') : NULL;
    const char *last = NULL;

    for (; at < end; at++)
        if (*at == '\t')
            last = at + 1;
    return last ? strtoul(last, NULL, 10) : 0;
}
