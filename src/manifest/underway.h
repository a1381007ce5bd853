/* SPDX-License-Identifier: MIT */
#pragma once

/* Recordings that are under way. Each has a folder for what lives only as long as it does: FIFOs, sockets, files for
 * a monitor to read when it starts, and a file that says what is recorded where, so that others find it:
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/            locked by its recorder (base/locked_folder.h)
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/recording   "PID\n/FOLDER": the recorder, and the trace
 *
 * It is this user's alone, and removed at the end; what a recorder that was killed has left, by the next one. */

#include <sys/types.h>

#include "base/fault.h"
#include "base/locked_folder.h"

struct underway {
    struct locked_folder folder;
};

#define UNDERWAY_NONE ((struct underway){.folder.fd = -1})

/* Of the recording into TRACE, a folder that is there. PARENT is $XDG_RUNTIME_DIR; /tmp where that is NULL, not there,
 * or too long for sockets to have names in it. -errno with FAULT. */
int underway_begin(const char *parent, const char *trace, struct underway *ret,
                   struct fault *fault);
/* Removes the folder with all files in it. UNDERWAY_NONE may be given, and is what is left. */
void underway_end(struct underway *underway);

/* The name of what is NAME in the folder, into BUF, which has room for a socket's name. Returns BUF. */
#define UNDERWAY_NAME_MAX 100
const char *underway_name(const struct underway *underway, const char *name,
                          char buf[UNDERWAY_NAME_MAX]);

/* ---- Those of this user ---- */

struct underway_recording {
    pid_t pid;         /* of the recorder */
    const char *trace; /* its folder, absolute */
    int64_t since_ns;  /* CLOCK_REALTIME */
};

/* What FOUND returns, if it is not 0, ends it, and is returned. PARENT as above; /tmp is looked into besides. */
int underway_foreach(const char *parent,
                     int (*found)(const struct underway_recording *recording, void *userdata),
                     void *userdata);
