/* SPDX-License-Identifier: MIT */
#pragma once

/* What a server of one file (serve/file_server.h) answers to a request. Only the page of one other site, in a browser of
 * this machine, may have the file:
 *
 *  - the path has a secret, so that another user of this machine does not know it;
 *  - the header Host must name the server, so that no name of another site that resolves to our address is ours;
 *  - the header Origin must be that site. The answer lets the browser show the file to its pages, and no others. */

#include "base/text.h"
#include "serve/guard.h"

/* A request up to the empty line after its headers. */
#define FILE_REQUEST_MAX ((size_t)16 << 10)

struct file_site {
    struct guard guard; /* the names of the server, and the secret */
    const char *path;   /* "/SECRET/vm.perfetto-trace" */
    const char *origin; /* "https://ui.perfetto.dev" */
    uint64_t size;      /* of the file */
};

struct file_answer {
    unsigned status; /* of HTTP */
    bool has_file;   /* the file follows the head */
    size_t len;
    char head[768];
};

/* True if the LEN bytes at REQUEST have all headers. */
bool file_request_is_whole(const char *request, size_t len);
/* Answers a whole one. IS_BUSY: the file is being sent to another connection. */
void file_request_answer(const struct file_site *site, const char *request, size_t len,
                         bool is_busy, struct file_answer *ret);
