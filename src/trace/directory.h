/* SPDX-License-Identifier: MIT */
#pragma once

/* Directories given as a trace, or as the parent of one. */

#include <stdbool.h>

#include "base/error.h"

/* True if the directory PATH, which has no manifest, is itself a trace: CTF, ftrace pages, or a tracefs
 * copy. */
bool directory_is_trace(const char *path);

/* Fills ERROR with what the directory PATH is, which is not a trace, and which traces are below it.
 * Returns -EINVAL, or the errno of reading it. */
int directory_refuse(const char *path, struct error *error);

/* The directory whose manifest or CTF metadata the file PATH is; the caller frees it. NULL: another
 * file. */
char *directory_of_manifest(const char *path);
