/* SPDX-License-Identifier: MIT */
#pragma once

/* The registry of running recordings. Each has a directory for what lives only as long as it does:
 * FIFOs, sockets, files for a monitor to read at its start, and a file that lets other programs find
 * the recording:
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/            locked by its recorder (base/locked_dir.h)
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/recording   "PID\n/DIR": the recorder, and the trace
 *
 * The directory is accessible to this user only. It is removed at the end, or, after a recorder was
 * killed, by the next one. */

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
/* Removes the directory with all files in it. Does nothing with REGISTRY_NONE, which the entry becomes. */
void registry_remove(struct registry_entry *registry_entry);

/* Writes the path of NAME in the directory to BUF, short enough for a socket's address. Returns BUF. */
#define REGISTRY_NAME_MAX 100
const char *registry_name(const struct registry_entry *registry_entry, const char *name,
                          char buf[REGISTRY_NAME_MAX]);

/* ---- Those of this user ---- */

struct registry_recording {
    pid_t pid;         /* of the recorder */
    const char *trace; /* its directory, absolute */
    int64_t since_ns;  /* CLOCK_REALTIME */
};

/* Calls FOUND for each running recording; stops when it returns other than 0, and returns that. PARENT
 * as above; also searches /tmp. */
int registry_foreach(const char *parent,
                     int (*found)(const struct registry_recording *recording, void *userdata),
                     void *userdata);
