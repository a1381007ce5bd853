/* SPDX-License-Identifier: MIT */
#pragma once

/* Serves one file, once, to a page of one other site in a browser on this machine. Nobody else gets it:
 *
 *  - The path has a secret, which other users of this machine do not know.
 *  - The header Host must name the server, which excludes names of other sites that resolve to our address.
 *  - The header Origin must be that site. The answer permits the browser to show the file only to pages of that site.
 *
 * Uses libmicrohttpd, in the calling thread. */

#include "base/error.h"
#include "serve/guard.h"

struct file_site {
    struct guard guard; /* the names of the server, and the secret */
    const char *path;   /* "/SECRET/vm.perfetto-trace" */
    const char *origin; /* "https://ui.perfetto.dev" */
    uint64_t size;      /* of the file */
};

/* Answers requests to LISTENER, which it closes, until the whole file was sent, at most for WAIT_MS and the time of
 * sending. The caller keeps FILE. Ends when STOP_FD is readable. 1 if the file was sent; 0 if it was stopped;
 * -ETIMEDOUT, or another negative errno with ERROR. */
int file_server_run(int listener, const struct file_site *site, int file, int stop_fd,
                    unsigned wait_ms, struct error *error);
