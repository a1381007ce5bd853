/* SPDX-License-Identifier: MIT */
#pragma once

/* An identifier of a trace by its content: a copy has the same identifier, changed bytes give another one. */

#include "base/error.h"

#define TRACE_IDENTITY_SIZE 33

/* Writes 32 hexadecimal digits for the traces at PATHS, which are files or directories. The digits depend on the names
 * and sizes of all files, and on the first and last bytes of each file, not on all bytes. Returns a negative errno with
 * ERROR; -ESPIPE for "-", a pipe or a device, which can be read only once. */
int trace_identity(const char *const *paths, unsigned n, char ret_identity[TRACE_IDENTITY_SIZE],
                   struct error *error);
