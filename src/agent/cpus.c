/* SPDX-License-Identifier: MIT */
#include "agent/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

int cpus_parse(const char *text, struct cpus *ret_cpus)
{
    struct cpus cpus = {0};
    bool beyond = false;
    const char *p = text;

    if (*p == '\n' || !*p) {
        *ret_cpus = cpus;
        return p[0] && p[1] ? -EINVAL : 0;
    }
    for (;;) {
        uint64_t ends[2] = {0, 0};
        unsigned n = 0;

        do {
            if (*p < '0' || *p > '9')
                return -EINVAL;
            for (; *p >= '0' && *p <= '9'; p++)
                ends[n] = MIN(ends[n] * 10 + (unsigned)(*p - '0'), (uint64_t)UINT32_MAX);
            n++;
        } while (n < 2 && *p == '-' && p++);
        if (n == 1)
            ends[1] = ends[0];
        if (ends[1] < ends[0])
            return -EINVAL;
        if (ends[1] >= CPUS_MAX)
            beyond = true;
        for (uint64_t cpu = ends[0]; cpu <= ends[1] && cpu < CPUS_MAX; cpu++)
            cpus_add(&cpus, (uint32_t)cpu);
        if (*p != ',')
            break;
        p++;
    }
    if (*p == '\n')
        p++;
    if (*p)
        return -EINVAL;
    *ret_cpus = cpus;
    return beyond ? -ERANGE : 0;
}

static int read_list(const char *path, int number, struct cpus *ret_cpus)
{
    char text[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    long known;

    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        return cpus_parse(text, ret_cpus);
    }

    /* As old agents do: so many, counted from 0. */
    known = sysconf(number);
    if (known <= 0)
        return -ENOENT;
    memset(ret_cpus, 0, sizeof *ret_cpus);
    for (uint32_t cpu = 0; cpu < (uint32_t)MIN(known, (long)CPUS_MAX); cpu++)
        cpus_add(ret_cpus, cpu);
    return 0;
}

int cpus_online(struct cpus *ret_cpus)
{
    return read_list("/sys/devices/system/cpu/online", _SC_NPROCESSORS_ONLN, ret_cpus);
}

int cpus_possible(struct cpus *ret_cpus)
{
    return read_list("/sys/devices/system/cpu/possible", _SC_NPROCESSORS_CONF, ret_cpus);
}

int cpus_bind(pid_t tid, uint32_t cpu)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    int r = 0;

    if (!set)
        return -ENOMEM;
    CPU_ZERO_S(size, set);
    CPU_SET_S(cpu, size, set);
    if (sched_setaffinity(tid, size, set) < 0)
        r = -errno;
    CPU_FREE(set);
    return r;
}

bool cpus_is_bound(pid_t tid, uint32_t cpu)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    bool is_bound;

    if (!set)
        return false;
    is_bound = sched_getaffinity(tid, size, set) >= 0 && CPU_COUNT_S(size, set) == 1 &&
               CPU_ISSET_S(cpu, size, set);
    CPU_FREE(set);
    return is_bound;
}
