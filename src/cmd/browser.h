/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens an address in the user's browser. Other users see the arguments of every process, so the browser gets the name
 * of a file that only this user can read, and the file leads to the address. */

#include "base/error.h"
#include "base/locked_dir.h"

struct browser {
    struct locked_dir dir; /* with the file */
};

/* 0; -ENOENT: there is no display, or no xdg-open; another negative errno. With ERROR. */
int browser_open(struct browser *browser, const char *address, struct error *error);
/* Removes the file. The browser goes on. */
void browser_done(struct browser *browser);
