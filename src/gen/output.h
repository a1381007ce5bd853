/* SPDX-License-Identifier: MIT */
#pragma once

/* Generated files as a build wants them: whole or not at all, and left alone where nothing changed, so
 * that nothing is compiled again for it. */

#include "base/error.h"

/* Makes the file PATH ("-": standard output) hold the SIZE bytes at DATA. A regular file that holds
 * them already is not touched; else they go into a temporary file beside it, which then takes its
 * name. What is no regular file (a pipe, a device) is written to. A negative errno with ERROR filled. */
int output_write(const char *path, const char *data, size_t size, struct error *error);

/* Whether PATH, which need not exist, is one of the N INPUTS, under whatever name. */
bool output_is_input(const char *path, const char *const *inputs, unsigned n);

/* A file in Make's syntax that says TARGET depends on the N INPUTS ("-" is left out). */
int output_write_depfile(const char *path, const char *target, const char *const *inputs,
                         unsigned n, struct error *error);
