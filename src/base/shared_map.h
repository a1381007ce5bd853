/* SPDX-License-Identifier: MIT */
#pragma once

/* A mapping of a file that an untrusted process may truncate. Pages that are gone then read as zeros, and `is_cut` is set.
 * Without this, reading such a page would kill this process with SIGBUS.
 *
 * Each mapping installs a SIGBUS handler, which passes on faults outside of such mappings. Only one
 * thread may create, use and remove mappings. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_map {
    void *bytes; /* NULL: not mapped */
    size_t length;
    bool is_cut;
    struct shared_map *next;
};

/* Maps LENGTH bytes of FD from OFFSET, a multiple of the page size. MAP must stay at its address until
 * shared_map_done(). WRITE: stores go to the file. -errno. */
int shared_map_init(struct shared_map *map, int fd, uint64_t offset, size_t length, bool write,
                    bool is_private);
/* Maps LENGTH bytes from the start of the file instead. -errno: the mapping is unchanged. */
int shared_map_grow(struct shared_map *map, int fd, size_t length, bool write);
void shared_map_done(struct shared_map *map);

/* True if pages of the mapping are gone. */
static inline bool shared_map_is_cut(const struct shared_map *map)
{
    return *(const volatile bool *)&map->is_cut;
}
