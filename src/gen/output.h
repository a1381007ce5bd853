/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes generated files atomically, but not if their content is unchanged, so that nothing is recompiled. */

#include "base/error.h"

/* Writes SIZE bytes of DATA to the file PATH ("-": standard output). A regular file that already has this content is
 * not touched; otherwise a temporary file in the same directory replaces it. Anything but a regular file (a pipe, a
 * device) is written to directly. A negative errno with ERROR. */
int output_write(const char *path, const char *data, size_t size, struct error *error);

/* True if PATH, which need not exist, is one of the N INPUTS, under any name. */
bool output_is_input(const char *path, const char *const *inputs, unsigned n);

/* Writes a makefile rule that TARGET depends on the N INPUTS (without "-"). */
int output_write_depfile(const char *path, const char *target, const char *const *inputs,
                         unsigned n, struct error *error);
