/* SPDX-License-Identifier: MIT */
#include "record/percpu/area_map.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static struct {
    uint8_t *start; /* NULL: there is none */
    size_t size;
    volatile sig_atomic_t gone;
    struct sigaction before;
} file;

/* The instruction that touched what is gone is done again when this returns: it finds zeros, or, where the
 * fault is not ours, ends the process as it would have without us. mmap() is a system call and no more. */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
    int error = errno;

    (void)context;
    if (info->si_code == BUS_ADRERR &&
        (uintptr_t)info->si_addr - (uintptr_t)file.start < file.size &&
        mmap(file.start, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) == file.start)
        file.gone = 1;
    else
        (void)sigaction(signal, &file.before, NULL);
    errno = error;
}

int area_map_open(int fd, size_t size, void **ret)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    void *start;

    if (file.start)
        return -EBUSY;
    start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (start == MAP_FAILED)
        return -errno;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &file.before) < 0) {
        int r = -errno;

        munmap(start, size);
        return r;
    }
    file.start = start;
    file.size = size;
    file.gone = 0;
    *ret = start;
    return 0;
}

void area_map_close(void)
{
    if (!file.start)
        return;
    (void)sigaction(SIGBUS, &file.before, NULL);
    munmap(file.start, file.size);
    file.start = NULL;
}

bool area_map_is_gone(void)
{
    return file.gone;
}
