/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory in which processes create their directories (runtime/ring/process_file.h), and the names of these
 * directories. NAMED is a directory that the user named; "": the default directory. Nothing here allocates memory, or
 * waits except for the file system; signal handlers may call it. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/format.h"

#define RINGS_NAME_SIZE 96

/* Opens the parent directory, and writes its path with a final '/' to LINE. -errno. */
int rings_parent_open(const char *named, struct line *line);
/* For the default directory, open as PARENT: true if it has too many processes. */
bool rings_parent_is_full(const char *named, int parent);
/* For the default directory: checks that LENGTH more bytes leave a part of the file system of FD free. Returns 0 or
 * -ENOSPC. */
int rings_parent_leaves_space(const char *named, int fd, uint64_t length);

/* Creates a new directory whose name begins with RINGS_HIDDEN, and writes the name to NAME. Returns its descriptor, or
 * -errno. */
int rings_parent_make_hidden(const char *named, int parent, char name[RINGS_NAME_SIZE]);
/* Renames the directory to its visible name, and writes that name to LINE. The directory must have its process file, so
 * that a visible directory always has one. -ENOENT: it was mistaken for the directory of a dead process and removed. */
int rings_parent_show(const char *named, int parent, const char *hidden, struct line *line);
