/* SPDX-License-Identifier: MIT */
#pragma once

/* Reserves disk space for the last manifest of a recording, in case the disk is full then. The space is a file without
 * a name. */

#include <sys/types.h>

/* What a manifest may grow by until the end: problems, threads, domains. A larger manifest may double. */
#define RESERVE_GROWTH ((off_t)16 * 1024)

/* Reserves space for DIR's current manifest and its growth. *FD is -1 before, and stays -1 if such a file cannot be
 * made. A file that is already open stays. */
void reserve_keep(const char *dir, int *fd);
/* Frees the space. */
void reserve_give(int *fd);
