/* SPDX-License-Identifier: MIT */
#pragma once

/* Files without a name, for reading and writing, that disappear when they are closed. */

/* Makes a file in the directory PATH, relative to DIR (AT_FDCWD, or a descriptor and "."). Returns its descriptor, or -errno. */
int unnamed_file_open(int dir, const char *path);
/* The same on file systems without such files (overlayfs before Linux 6.1, NFS). The file has a name at first. */
int unnamed_file_open_by_name(int dir, const char *path);
