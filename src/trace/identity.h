/* SPDX-License-Identifier: MIT */
#pragma once

/* What a trace is known by, wherever it lies: the same for a copy of it, another one for other bytes. */

#include "base/error.h"

#define TRACE_IDENTITY_SIZE 33

/* Of the traces at PATHS, files or directories: 32 hexadecimal digits. It is made of the names of the files in each
 * directory, of their sizes, and of the beginning and the end of each, not of all bytes. -errno with ERROR. "-", a
 * pipe or a device: -ESPIPE, as it can be read once only. */
int trace_identity(const char *const *paths, unsigned n, char ret_identity[TRACE_IDENTITY_SIZE],
                   struct error *error);
