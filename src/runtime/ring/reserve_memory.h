/* SPDX-License-Identifier: MIT */
#pragma once

/* Memory and file space that are really there: in a full tmpfs a write to a mapped page that could not be had ends the
 * program by SIGBUS. Nothing here allocates or waits; signal handlers may call it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocates the pages of SIZE bytes; both are multiples of a page. False: none are free now, or the kernel cannot be
 * asked. */
bool reserve_pages(void *bytes, size_t size);
/* Kernels before 5.14 cannot: there all pages are touched when the ring is made. */
bool reserve_is_supported(void);
/* The same; where the kernel cannot be asked, by touching them. */
bool reserve_pages_by_touch(void *bytes, size_t size);

/* Makes the file LENGTH bytes long, and takes the space of the first FIRST. -errno. */
int reserve_file_space(int fd, uint64_t length, uint64_t first);
