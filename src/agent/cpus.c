/* SPDX-License-Identifier: MIT */
#include "agent/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static int read_list(const char *path, int number, struct cpu_set *ret_cpus)
{
    char text[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    long known;

    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        return cpu_set_parse_kernel(text, ret_cpus);
    }

    /* Without sysfs: N CPUs, counted from 0, as upstream's agent does. */
    known = sysconf(number);
    if (known <= 0)
        return -ENOENT;
    memset(ret_cpus, 0, sizeof *ret_cpus);
    for (uint32_t cpu = 0; cpu < (uint32_t)MIN(known, (long)CPU_SET_MAX); cpu++)
        cpu_set_add(ret_cpus, cpu);
    return 0;
}

int cpus_online(struct cpu_set *ret_cpus)
{
    return read_list("/sys/devices/system/cpu/online", _SC_NPROCESSORS_ONLN, ret_cpus);
}

int cpus_possible(struct cpu_set *ret_cpus)
{
    return read_list("/sys/devices/system/cpu/possible", _SC_NPROCESSORS_CONF, ret_cpus);
}

int cpus_bind(pid_t tid, uint32_t cpu)
{
    cpu_set_t *set = CPU_ALLOC(CPU_SET_MAX);
    size_t size = CPU_ALLOC_SIZE(CPU_SET_MAX);
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
    cpu_set_t *set = CPU_ALLOC(CPU_SET_MAX);
    size_t size = CPU_ALLOC_SIZE(CPU_SET_MAX);
    bool is_bound;

    if (!set)
        return false;
    is_bound = sched_getaffinity(tid, size, set) >= 0 && CPU_COUNT_S(size, set) == 1 &&
               CPU_ISSET_S(cpu, size, set);
    CPU_FREE(set);
    return is_bound;
}
