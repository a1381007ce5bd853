/* SPDX-License-Identifier: MIT */
#pragma once

/* strata export --open: gives an exported file to the page of Perfetto's UI, as its documentation describes
 * (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui). The page's address contains the address of a
 * server on this machine, from which the page fetches the file. */

#include "base/error.h"
#include "base/locked_dir.h"

struct export_open {
    struct locked_dir dir; /* contains the file, if the user did not name one */
    char path[96];         /* of that file; "" if the user named one */
    int listener;
};

/* Call before the export: takes the port, and makes the directory if NEEDS_FILE. A negative errno with ERROR. */
int export_open_begin(struct export_open *open, bool needs_file, struct error *error);
/* Call after the export to PATH: opens the browser, and waits until it has fetched the file. An exit status; errors are
 * printed. */
int export_open_run(struct export_open *open, const char *path);
void export_open_done(struct export_open *open);
