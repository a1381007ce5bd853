/* SPDX-License-Identifier: MIT */
#pragma once

/* A file that others have mapped too, and may make smaller at any time. To touch what is gone would end this
 * process by SIGBUS; instead zeros come in the place of the whole mapping, which is then nobody else's, and
 * area_map_is_gone() tells so. Whoever takes something from the mapping asks that once he has seen all
 * of it and before he believes it.
 *
 * There is one handler of signals in a process, so one such mapping at a time is looked after; for addresses
 * elsewhere SIGBUS does what it did before. Not thread-safe. */

#include <stdbool.h>
#include <stddef.h>

/* Maps the first SIZE bytes, for reading and writing. -EBUSY: there is one already; an errno of mmap(). */
int area_map_open(int fd, size_t size, void **ret);
void area_map_close(void);
bool area_map_is_gone(void);
