/* SPDX-License-Identifier: MIT */
#pragma once

/* Where an export is written: it grows under a name of its own beside the one asked for, and takes
 * that when it is whole. So a failed export leaves nothing, and one may be written over the capture
 * that it is made from. */

#include "export/export.h"

struct export_place {
    enum export_target target;
    const char *wanted; /* borrowed; NULL: standard output */
    char *path;         /* as it is written; NULL: straight to a descriptor (a pipe, a device) */
    int fd;             /* -1: a directory */
    struct text out;    /* EXPORT_STREAM */
};

/* WANTED NULL or "-": standard output. -EEXIST: a directory of that name has something in it; other
 * errnos; each with FAULT. */
int export_place_open(enum export_target target, const char *wanted, struct export_place *ret,
                      struct fault *fault);

/* Gives what was written its name. An errno with FAULT: it could not be written; -EPIPE: whoever was
 * to read it went away. */
int export_place_keep(struct export_place *place, struct fault *fault);

/* Takes away what was not kept. */
void export_place_done(struct export_place *place);

/* Takes away the file, or the directory with all that is in it. Safe in signal handlers. */
void export_place_remove(const char *path, bool dir);
