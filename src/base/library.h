/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared libraries that few commands need: loaded when they are first needed, so that the same binary starts quickly, and also
 * where they are not installed. Needs dlopen(), which the generator does without. */

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

/* Loads LIBRARY and sets the pointers of TABLE, which is untouched on failure. -ELIBACC with ERROR: it is not installed, or has
 * not all functions. *RET_HANDLE is for dlclose(). A library that is loaded already is not loaded again. */
int library_load(const struct library *library, void *table, void **ret_handle,
                 struct error *error);
