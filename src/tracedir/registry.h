/* SPDX-License-Identifier: MIT */
#pragma once

/* Recordings that are under way. Each has a directory for what lives only as long as it does: FIFOs, sockets, files for
 * a monitor to read when it starts, and a file that says what is recorded where, so that others find it:
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/            locked by its recorder (base/locked_dir.h)
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/recording   "PID\n/DIR": the recorder, and the trace
 *
 * It is this user's alone, and removed at the end; what a recorder that was killed has left, by the next one. */

#include <sys/types.h>

#include "base/error.h"
#include "base/locked_dir.h"

struct registry_entry {
    struct locked_dir dir;
};

#define REGISTRY_NONE ((struct registry_entry){.dir.fd = -1})

/* Of the recording into TRACE, a directory that is there. PARENT is $XDG_RUNTIME_DIR; /tmp where that is NULL, not there,
 * or too long for sockets to have names in it. -errno with ERROR. */
int registry_add(const char *parent, const char *trace, struct registry_entry *ret,
                 struct error *error);
/* Removes the directory with all files in it. REGISTRY_NONE may be given, and is what is left. */
void registry_remove(struct registry_entry *registry_entry);

/* The name of what is NAME in the directory, into BUF, which has room for a socket's name. Returns BUF. */
#define REGISTRY_NAME_MAX 100
const char *registry_name(const struct registry_entry *registry_entry, const char *name,
                          char buf[REGISTRY_NAME_MAX]);

/* ---- Those of this user ---- */

struct registry_recording {
    pid_t pid;         /* of the recorder */
    const char *trace; /* its directory, absolute */
    int64_t since_ns;  /* CLOCK_REALTIME */
};

/* What FOUND returns, if it is not 0, ends it, and is returned. PARENT as above; /tmp is looked into besides. */
int registry_foreach(const char *parent,
                     int (*found)(const struct registry_recording *recording, void *userdata),
                     void *userdata);
