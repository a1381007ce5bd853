/* SPDX-License-Identifier: MIT */
#pragma once

/* Files whose beginning was released. They have a hole there, or zero bytes after a copy by a program that does not keep
 * holes. The offsets of the remaining data do not change. */

#include "base/error.h"

/* The offset at which the data of the regular file FD begin: after a hole or a block of zero bytes at its start, and all zero
 * bytes that follow. If nothing else follows, the end of the file. 0: the file begins with data. Does not move FD's offset. */
uint64_t sparse_begin(int fd);

/* Releases the bytes from FROM to OFFSET; the bytes before FROM are released already. Released bytes read as zero, and use no
 * disk space, except for a part of a block. Less than the first block is not released. -EOPNOTSUPP: the file system cannot
 * release bytes; or another negative errno. */
int sparse_release(int fd, uint64_t from, uint64_t offset);

/* 0 if the file system of the directory DIR can release bytes; -EOPNOTSUPP, or another negative errno. */
int sparse_check(int dir);
