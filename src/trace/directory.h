/* SPDX-License-Identifier: MIT */
#pragma once

/* Directories that are given as a trace, or that contain traces. */

#include <stdbool.h>

#include "base/error.h"

/* True if the directory PATH, which has no manifest, is itself a trace: CTF, ftrace pages, or a copy of tracefs. */
bool directory_is_trace(const char *path);

/* Fills ERROR for a directory PATH that is not a trace: what it is, and which traces are below it. Returns -EINVAL, or
 * the errno of reading it. */
int directory_refuse(const char *path, struct error *error);

/* Returns the directory if PATH is its manifest or its CTF metadata, otherwise NULL. The caller frees it. */
char *directory_of_manifest(const char *path);
