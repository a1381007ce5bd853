/* SPDX-License-Identifier: MIT */
#pragma once

/* The registry of running recordings. Each recording has a directory for what is needed only while it runs: FIFOs,
 * sockets, files that a monitor reads when it starts, and files by which other programs find the recording:
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/            locked by its recorder (base/locked_dir.h)
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/recording   "PID\n/DIR": the recorder, and the trace
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/limit       what it keeps: "5m,2G"; not there: everything
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/agent       the process that records this machine's kernel: "PID"
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/restore     "PID START\nTEXT": what the recorder has changed in that process
 *
 * Only this user can access the directory. The recorder removes it at the end. If the recorder was killed, or could not
 * restore the process, the next recorder removes it; if there is a file `restore`, only after that process was restored
 * or has ended. */

#include <sys/types.h>

#include "base/error.h"
#include "base/locked_dir.h"

struct registry_entry {
    struct locked_dir dir;
};

#define REGISTRY_NONE ((struct registry_entry){.dir.fd = -1})

/* Adds the recording into TRACE, an existing directory. PARENT is $XDG_RUNTIME_DIR; /tmp is used if that is NULL, does
 * not exist, or is too long for names of sockets. A negative errno with ERROR. */
int registry_add(const char *parent, const char *trace, struct registry_entry *ret,
                 struct error *error);
/* Removes the directory and the files in it. The entry becomes REGISTRY_NONE, for which nothing is done. */
void registry_remove(struct registry_entry *registry_entry);
/* Leaves the directory with `restore` to the next recorder, because the process could not be restored. */
void registry_leave(struct registry_entry *registry_entry);

/* Writes the path of NAME in the directory to BUF, short enough for a socket's address. Returns BUF. */
#define REGISTRY_NAME_MAX 100
const char *registry_name(const struct registry_entry *registry_entry, const char *name,
                          char buf[REGISTRY_NAME_MAX]);

/* Stores what --flight keeps of the recording. A negative errno. */
int registry_put_limit(const struct registry_entry *registry_entry, const char *limit);

/* Stores the process that records this machine's kernel for the recording. A negative errno. */
int registry_put_agent(const struct registry_entry *registry_entry, pid_t agent);
/* Finds that process for the recording into TRACE (absolute), whose recorder was killed. 0 if none is known. PARENT is
 * $XDG_RUNTIME_DIR. */
pid_t registry_find_agent(const char *parent, const char *trace);

/* ---- What must be restored in another process if the recorder is killed ---- */

#define REGISTRY_RESTORE_MAX ((size_t)4 << 20)

/* Replaces `restore` by TEXT, about process PID. A negative errno. */
int registry_put_restore(const struct registry_entry *registry_entry, pid_t pid, const char *text);
/* Finds the text that killed recorders left about PID, a running process: the first recorder's, which found the process
 * in its original state. *RET is allocated, or NULL if there is none. PARENT is $XDG_RUNTIME_DIR. -ENOMEM. */
int registry_find_restore(const char *parent, pid_t pid, char **ret);
/* Removes the directories that killed recorders left about PID, which is restored. */
void registry_drop_restore(const char *parent, pid_t pid);

/* True if TRACE belongs to another user and is locked by its recorder. The registry may not show such recordings to
 * this user. */
bool registry_is_recorded_by_other(const char *trace);

/* ---- Recordings of this user, and recordings of services ---- */

/* $XDG_RUNTIME_DIR of the service that systemd starts. */
#define REGISTRY_SERVICES "/run/strata"
#define REGISTRY_LIMIT_MAX 48

struct registry_recording {
    pid_t pid;         /* of the recorder */
    const char *trace; /* its directory, absolute */
    int64_t since_ns;  /* CLOCK_REALTIME */
    uid_t user;
    const char *limit; /* "5m,2G"; "" if everything is kept or it is unknown */
};

/* Calls FOUND for each running recording. If FOUND returns anything but 0, stops and returns that. Searches PARENT as
 * above, /tmp, and recordings of all users in REGISTRY_SERVICES. */
int registry_foreach(const char *parent,
                     int (*found)(const struct registry_recording *recording, void *userdata),
                     void *userdata);

/* Finds the recorder of process PID, a VMM that a running recording of this user has in its manifest. Copies its trace
 * directory to TRACE, of SIZE bytes. 0 if there is none. */
pid_t registry_find_recorder(const char *parent, pid_t pid, char *trace, size_t size);
