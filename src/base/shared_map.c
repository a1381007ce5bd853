/* SPDX-License-Identifier: MIT */
#include "base/shared_map.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static struct shared_map *maps;
static struct sigaction before;

static struct shared_map *find(const void *address)
{
    for (struct shared_map *map = maps; map; map = map->next)
        if ((uintptr_t)address - (uintptr_t)map->bytes < map->length)
            return map;
    return NULL;
}

/* The signal is raised by an access, so the list is not being changed. */
static void on_error(int number, siginfo_t *info, void *context)
{
    struct shared_map *map = info->si_code > 0 ? find(info->si_addr) : NULL;
    uintptr_t page = (uintptr_t)info->si_addr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    int error = errno;

    (void)context;
    /* All pages after it are gone too. */
    if (map &&
        mmap((void *)page, (uintptr_t)map->bytes + map->length - page, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
        map->is_cut = true;
        errno = error;
        return;
    }
    /* Not one of our mappings: restore the previous handler; the access is repeated and faults again. */
    sigaction(number, &before, NULL);
    if (info->si_code <= 0)
        raise(number);
    errno = error;
}

static int install(void)
{
    struct sigaction action = {.sa_sigaction = on_error, .sa_flags = SA_SIGINFO}, now;

    if (sigaction(SIGBUS, NULL, &now) < 0)
        return -errno;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_error)
        return 0;
    if (sigaction(SIGBUS, &action, &before) < 0)
        return -errno;
    return 0;
}

static void *map_it(int fd, uint64_t offset, size_t length, bool write, bool is_private)
{
    return mmap(NULL, length, PROT_READ | (write ? PROT_WRITE : 0),
                is_private ? MAP_PRIVATE : MAP_SHARED, fd, (off_t)offset);
}

int shared_map_init(struct shared_map *map, int fd, uint64_t offset, size_t length, bool write,
                    bool is_private)
{
    int r = install();
    void *bytes;

    if (r < 0)
        return r;
    bytes = map_it(fd, offset, length, write, is_private);
    if (bytes == MAP_FAILED)
        return -errno;
    *map = (struct shared_map){.bytes = bytes, .length = length, .next = maps};
    maps = map;
    return 0;
}

int shared_map_grow(struct shared_map *map, int fd, size_t length, bool write)
{
    void *bytes = map_it(fd, 0, length, write, false);

    if (bytes == MAP_FAILED)
        return -errno;
    munmap(map->bytes, map->length);
    map->bytes = bytes;
    map->length = length;
    return 0;
}

void shared_map_done(struct shared_map *map)
{
    if (!map->bytes)
        return;
    for (struct shared_map **at = &maps; *at; at = &(*at)->next)
        if (*at == map) {
            *at = map->next;
            break;
        }
    munmap(map->bytes, map->length);
    map->bytes = NULL;
}
