/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens an address in the user's browser. Other users can see the arguments of every process, so the browser gets the
 * name of a file that only this user can read. The file redirects to the address. */

#include "base/error.h"
#include "base/locked_dir.h"

struct browser {
    struct locked_dir dir; /* contains the file */
};

/* TEMPORARY_DIR: where the file is made; NULL: /tmp. 0; -ENOENT if there is no xdg-open; another negative errno; with
 * ERROR. */
int browser_open(struct browser *browser, const char *address, const char *temporary_dir,
                 struct error *error);
/* Removes the file. The browser continues. */
void browser_done(struct browser *browser);
