/* SPDX-License-Identifier: MIT */
#include "tracedir/host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/proc.h"
#include "base/tsc.h"

#define ATTEMPTS 8
/* The longest clock step to wait for, and the pause after a number of reads, in ns. */
#define STEP_MAX 20000000
#define STEP_PAUSE 100000
#define STEP_READS 1000

/* Reads the first line of a small file; "" if there is none. */
static void read_line(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, size - 1);

    if (fd >= 0)
        close(fd);
    ret[MAX(n, 0)] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

const struct manifest_host *host_here(void)
{
    static struct manifest_host host;
    static struct utsname system;
    static char boot_id[64];

    if (host.boot_id || host.name)
        return &host;
    read_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id);
    host.boot_id = *boot_id ? boot_id : NULL;
    if (uname(&system) == 0 && *system.nodename)
        host.name = system.nodename;
    host.recorder = proc_has_kernel_numbers() ? (int32_t)getpid() : 0;
    return &host;
}

static uint64_t tsc(void)
{
#ifdef HAS_TSC
    return tsc_read();
#elif defined(__aarch64__)
    uint64_t v;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    return 0;
#endif
}

/* Returns the moment of the next step of a clock that moves in steps. */
static struct manifest_moment wait_for_step(void)
{
    uint64_t first = clock_ns(CLOCK_MONOTONIC);
    uint64_t now = first;
    uint64_t realtime = 0;
    uint64_t ticks = 0;
    struct timespec pause = {.tv_nsec = STEP_PAUSE};

    for (unsigned i = 0; i < STEP_MAX / STEP_PAUSE && now == first; i++) {
        /* Usually it steps at once. */
        if (i > 0)
            nanosleep(&pause, NULL);
        for (unsigned j = 0; j < STEP_READS && now == first; j++) {
            realtime = clock_ns(CLOCK_REALTIME);
            ticks = tsc();
            now = clock_ns(CLOCK_MONOTONIC);
        }
    }
    return (struct manifest_moment){
        .realtime_ns = (int64_t)realtime,
        .monotonic_ns = (int64_t)now,
        .tsc = MIN(ticks, (uint64_t)INT64_MAX),
        .error_ns = (int64_t)(now > first ? now - first : STEP_MAX) + 2,
    };
}

struct manifest_moment host_moment(void)
{
    struct manifest_moment best = {0};
    int64_t best_took = INT64_MAX;

    for (unsigned i = 0; i < ATTEMPTS; i++) {
        int64_t before = (int64_t)clock_ns(CLOCK_MONOTONIC);
        int64_t realtime = (int64_t)clock_ns(CLOCK_REALTIME);
        uint64_t ticks = tsc();
        int64_t took = (int64_t)clock_ns(CLOCK_MONOTONIC) - before;

        /* No time has passed: the clock stands still, and may do so for long. */
        if (took == 0)
            return wait_for_step();
        if (took >= best_took)
            continue;
        best_took = took;
        best = (struct manifest_moment){
            .realtime_ns = realtime,
            .monotonic_ns = before + took / 2,
            .tsc = MIN(ticks, (uint64_t)INT64_MAX),
            /* Half of the way, and what was rounded off. */
            .error_ns = took / 2 + 2,
        };
    }
    return best;
}
