/* SPDX-License-Identifier: MIT */
#pragma once

/* Files whose beginning was released: they have a hole there, or zero bytes, if they were copied by a program that does not
 * keep holes. Offsets of what is left stay as they were. */

#include "base/error.h"

/* Where the data of the regular file FD begin: after a hole at its start, or a block of zero bytes, and all zero bytes that
 * follow; the end of the file where there is nothing else. 0: it begins with data. Does not move FD's offset. */
uint64_t sparse_begin(int fd);

/* Releases the bytes before OFFSET, of which those before FROM are released: they read as zero, and use no disk space but for
 * the rest of a block. Where that is less than the first block, nothing changes. -EOPNOTSUPP: the file system cannot do this;
 * or another negative errno. */
int sparse_release(int fd, uint64_t from, uint64_t offset);

/* Whether the file system of the directory DIR can. 0, -EOPNOTSUPP, or another negative errno. */
int sparse_check(int dir);
