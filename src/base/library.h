/* SPDX-License-Identifier: MIT */
#pragma once

/* Loads shared libraries that few commands need when they are first needed. So the same binary starts quickly, and runs if
 * such a library is not installed. This needs dlopen(), which the generator does not use. */

#include "base/error.h"

struct library_symbol {
    const char *name;
    size_t offset; /* of the pointer to the function in the caller's table */
};

struct library {
    const char *file;                     /* "libNAME.so.N" */
    const char *package;                  /* what to install, for the message */
    const struct library_symbol *symbols; /* the last one has no name */
};

/* Loads LIBRARY, unless it is loaded, and sets the pointers of TABLE, which is untouched on failure. *RET_HANDLE is for
 * dlclose(). -ELIBACC with ERROR: the library is not installed, or lacks a function. */
int library_load(const struct library *library, void *table, void **ret_handle,
                 struct error *error);
