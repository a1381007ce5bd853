/* SPDX-License-Identifier: MIT */
#pragma once

/* Directories that are given as a trace, or as the directory of one. */

#include <stdbool.h>

#include "base/error.h"

/* True if the directory PATH, which has no manifest, is a trace by itself: in CTF, or ftrace pages or a tracefs
 * tree. */
bool directory_is_trace(const char *path);

/* Says what the directory PATH is, which is not a trace, and which traces lie in it. Returns -EINVAL, or why it
 * cannot be read. */
int directory_refuse(const char *path, struct error *error);

/* The directory (malloc) whose manifest, or whose CTF metadata, the file PATH is; NULL: PATH is another file. */
char *directory_of_manifest(const char *path);
