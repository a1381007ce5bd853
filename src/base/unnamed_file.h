/* SPDX-License-Identifier: MIT */
#pragma once

/* Files without a name, for reading and writing, which are gone when they are closed. */

/* Makes one in the directory PATH, seen from DIR (AT_FDCWD, or a descriptor and "."). Returns its descriptor, or -errno. */
int unnamed_file_open(int dir, const char *path);
/* The same on file systems that have no such files (overlayfs before Linux 6.1, NFS): it has a name at first. */
int unnamed_file_open_by_name(int dir, const char *path);
