/* SPDX-License-Identifier: MIT */
#pragma once

/* Room on the disk that is kept for the manifest of the recording's end, when the disk may be full: a file
 * without a name. */

#include <sys/types.h>

/* What a manifest may grow by until the end: problems, threads, domains; a larger one by as much as it has. */
#define SPARE_GROWTH ((off_t)16 * 1024)

/* Room for FOLDER's manifest as it is now, and for what it may grow by. *FD is -1 before, and where there cannot be
 * such a file; one that is there stays. */
void spare_keep(const char *folder, int *fd);
/* Gives the room back. */
void spare_give(int *fd);
