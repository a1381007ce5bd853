/* SPDX-License-Identifier: MIT */
#pragma once

/* Memory and file space that are really there: in a full tmpfs a write to a mapped page that could not be had ends the
 * program by SIGBUS. Nothing here allocates or waits; signal handlers may call it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocates the pages of SIZE bytes; both are multiples of a page. False: none are free now, or the kernel cannot be
 * asked. */
bool pages_take(void *bytes, size_t size);
/* Kernels before 5.14 cannot: there all pages are touched when the ring is made. */
bool pages_can_take(void);
/* The same; where the kernel cannot be asked, by touching them. */
bool pages_take_somehow(void *bytes, size_t size);

/* Makes the file LENGTH bytes long, and takes the space of the first FIRST. -errno. */
int file_take_space(int fd, uint64_t length, uint64_t first);
