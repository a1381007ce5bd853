/* SPDX-License-Identifier: MIT */

#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local struct trace_cpu trace_cpu;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* How many cycles the counter has in a second, from how many it has in a twentieth. A hypervisor knows
 * that anyway. */
static uint64_t measure_hz(void)
{
    uint64_t ns = now_ns(), cycles = strata_percpu_cycles();

    while (now_ns() - ns < 50000000)
        ;
    cycles = strata_percpu_cycles() - cycles;
    ns = now_ns() - ns;
    return (uint64_t)((double)cycles * 1e9 / (double)ns);
}

/* A buffer is as full as somebody asked to be told: wakes him. */
static void notify(struct strata_percpu_cpu *cpu)
{
    int error = errno; /* it may interrupt anything */

    syscall(SYS_futex, &cpu->control->notify, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = error;
}

static const struct strata_percpu_hooks hooks = {.notify = notify};

int trace_init(const char *name, unsigned n_cpus, unsigned pages)
{
    struct strata_percpu_options options = {
        .n_cpus = n_cpus,
        .pages = pages,
        .tsc_hz = measure_hz(),
        .pid = (uint32_t)getpid(),
        .name = "toy-hypervisor",
    };
    size_t size = strata_percpu_size(&options);
    void *memory = MAP_FAILED;
    int fd, r = 0;

    if (size == 0)
        return -EINVAL;
    shm_unlink(name); /* of one that was killed */
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        r = -errno;
    close(fd);
    return r < 0 ? r : strata_percpu_init(memory, size, &options, &strata_percpu_control);
}

void trace_done(const char *name)
{
    shm_unlink(name);
}

int trace_cpu_init(unsigned number)
{
    return strata_percpu_cpu_init(&trace_cpu.percpu, strata_percpu_control, number, &hooks);
}
