/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory in which processes make theirs (runtime/ring/process_file.h), and the names that they give them. NAMED is
 * the one that the user named; "": the default. Nothing here allocates or waits but for the file system; signal
 * handlers may call it. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/format.h"

#define RINGS_NAME_SIZE 96

/* The parent directory, open; its path with a '/' behind it goes to LINE. -errno. */
int rings_parent_open(const char *named, struct line *line);
/* Of the default one, which is open: whether there are too many processes in it. */
bool rings_parent_is_full(const char *named, int parent);
/* Of the default one: whether LENGTH bytes more leave a part of the file system of FD free. 0, -ENOSPC. */
int rings_parent_leaves_space(const char *named, int fd, uint64_t length);

/* Makes a directory that was not there, whose name, put into NAME, begins with RINGS_HIDDEN. Returns it open; -errno. */
int rings_parent_make_hidden(const char *named, int parent, char name[RINGS_NAME_SIZE]);
/* Gives it the name under which it is looked for, which goes to LINE. Its process file is there, so that a directory of
 * that name always has one. -ENOENT: it was taken for one of a process that is dead. */
int rings_parent_show(const char *named, int parent, const char *hidden, struct line *line);
