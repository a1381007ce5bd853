/* SPDX-License-Identifier: MIT */
#pragma once

/* Allocates memory and file space in advance, because in a full tmpfs, a write to a mapped page that cannot be
 * allocated ends the program by SIGBUS. Nothing here allocates heap memory or waits; signal handlers may call it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocates the pages of SIZE bytes at BYTES; both are multiples of the page size. Returns false if no pages are free
 * now, or the kernel does not support this. */
bool reserve_pages(void *bytes, size_t size);
/* False for kernels before 5.14. All pages are then touched when the ring is created. */
bool reserve_is_supported(void);
/* The same, but touches the pages if the kernel does not support this. */
bool reserve_pages_by_touch(void *bytes, size_t size);

/* Makes the file LENGTH bytes long, and allocates the space of the first FIRST bytes. -errno. */
int reserve_file_space(int fd, uint64_t length, uint64_t first);
