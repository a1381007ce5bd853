/* SPDX-License-Identifier: MIT */
#pragma once

/* A mapping of a file that another process, which is not trusted, may truncate while it is mapped. Pages that are gone
 * read as zeros from then on, and `is_cut` says so; without this the reader would be ended by SIGBUS.
 *
 * Each mapping sees to it that the process has the handler of SIGBUS, which passes on what lies in no such mapping. One
 * thread alone makes, uses and removes mappings. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_map {
    void *bytes; /* NULL: there is none */
    size_t length;
    bool is_cut;
    struct shared_map *next;
};

/* Maps LENGTH bytes of FD from OFFSET on, a multiple of a page, into MAP, which stays where it is until
 * shared_map_done(). WRITE: what is written there goes into the file. -errno. */
int shared_map_init(struct shared_map *map, int fd, uint64_t offset, size_t length, bool write,
                    bool is_private);
/* The same of more bytes, from the beginning of the file on. -errno: it stays as it was. */
int shared_map_grow(struct shared_map *map, int fd, size_t length, bool write);
void shared_map_done(struct shared_map *map);

/* Whether pages of it are gone. */
static inline bool shared_map_is_cut(const struct shared_map *map)
{
    return *(const volatile bool *)&map->is_cut;
}
