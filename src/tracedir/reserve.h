/* SPDX-License-Identifier: MIT */
#pragma once

/* Room on the disk that is kept for the manifest of the recording's end, when the disk may be full: a file
 * without a name. */

#include <sys/types.h>

/* What a manifest may grow by until the end: problems, threads, domains; a larger one by as much as it has. */
#define RESERVE_GROWTH ((off_t)16 * 1024)

/* Room for DIR's manifest as it is now, and for what it may grow by. *FD is -1 before, and where there cannot be
 * such a file; one that is there stays. */
void reserve_keep(const char *dir, int *fd);
/* Gives the room back. */
void reserve_give(int *fd);
