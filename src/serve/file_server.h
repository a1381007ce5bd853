/* SPDX-License-Identifier: MIT */
#pragma once

/* Serves one file, once, to the page of one other site in a browser of this machine; no other gets it:
 *
 *  - the path has a secret, which other users of this machine do not know;
 *  - the header Host must name the server, so that a name of another site that resolves to our address is not ours;
 *  - the header Origin must be that site. The answer lets the browser show the file to pages of that site alone.
 *
 * By libmicrohttpd, in the thread that calls. */

#include "base/error.h"
#include "serve/guard.h"

struct file_site {
    struct guard guard; /* the names of the server, and the secret */
    const char *path;   /* "/SECRET/vm.perfetto-trace" */
    const char *origin; /* "https://ui.perfetto.dev" */
    uint64_t size;      /* of the file */
};

/* Answers requests to LISTENER, which it closes, until the file was sent whole, for WAIT_MS, and while it is being sent. FILE
 * stays the caller's. STOP_FD: ends it when it is readable. 1: the file was sent; 0: it was stopped; -ETIMEDOUT, or another
 * negative errno with ERROR. */
int file_server_run(int listener, const struct file_site *site, int file, int stop_fd,
                    unsigned wait_ms, struct error *error);
