/* SPDX-License-Identifier: MIT */
#pragma once

/* The registry of running recordings. Each has a directory for what lives only as long as it does:
 * FIFOs, sockets, files for a monitor to read at its start, and a file that lets other programs find
 * the recording:
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/            locked by its recorder (base/locked_dir.h)
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/recording   "PID\n/DIR": the recorder, and the trace
 *
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/limit       what it keeps: "5m,2G"; not there: everything
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/agent       the process that records this machine's kernel: "PID"
 *     $XDG_RUNTIME_DIR/strata-record-XXXXXX/restore     "PID START\nTEXT": what the recorder has changed in that process
 *
 * The directory is accessible to this user only. It is removed at the end, or, after a recorder was
 * killed or could not restore the process, by the next one: with `restore`, when the process has ended, or was restored. */

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
/* Leaves the directory to the next recorder, with `restore`: that process could not be restored. */
void registry_leave(struct registry_entry *registry_entry);

/* Writes the path of NAME in the directory to BUF, short enough for a socket's address. Returns BUF. */
#define REGISTRY_NAME_MAX 100
const char *registry_name(const struct registry_entry *registry_entry, const char *name,
                          char buf[REGISTRY_NAME_MAX]);

/* What is kept of the recording, as --flight has it. -errno. */
int registry_put_limit(const struct registry_entry *registry_entry, const char *limit);

/* The process that records this machine's kernel for it. -errno. */
int registry_put_agent(const struct registry_entry *registry_entry, pid_t agent);
/* The same of the recording into TRACE, absolute, whose recorder was killed; 0: none is known. PARENT is $XDG_RUNTIME_DIR. */
pid_t registry_find_agent(const char *parent, const char *trace);

/* ---- What has to be restored in another process, should the recorder be killed ---- */

#define REGISTRY_RESTORE_MAX ((size_t)4 << 20)

/* Replaces `restore` by TEXT, which is about process PID. -errno. */
int registry_put_restore(const struct registry_entry *registry_entry, pid_t pid, const char *text);
/* The text that recorders which were killed have left about process PID, which runs: of the first of them, which found the
 * process as it had been. Allocated; NULL: none. PARENT is $XDG_RUNTIME_DIR. -ENOMEM. */
int registry_find_restore(const char *parent, pid_t pid, char **ret);
/* The process is restored: removes what those recorders have left. */
void registry_drop_restore(const char *parent, pid_t pid);

/* Whether TRACE is another user's, and locked by its recorder, which the registry may not show to this user. */
bool registry_is_recorded_by_other(const char *trace);

/* ---- Those of this user, and those of services that it may see ---- */

/* $XDG_RUNTIME_DIR of the service that systemd starts. */
#define REGISTRY_SERVICES "/run/strata"
#define REGISTRY_LIMIT_MAX 48

struct registry_recording {
    pid_t pid;         /* of the recorder */
    const char *trace; /* its directory, absolute */
    int64_t since_ns;  /* CLOCK_REALTIME */
    uid_t user;
    const char *limit; /* "5m,2G"; "": everything is kept, or it is not known */
};

/* Calls FOUND for each running recording; stops when it returns other than 0, and returns that. PARENT
 * as above; also searches /tmp, and REGISTRY_SERVICES for those of any user. */
int registry_foreach(const char *parent,
                     int (*found)(const struct registry_recording *recording, void *userdata),
                     void *userdata);

/* The recorder of process PID, a VMM that a running recording of this user names in its manifest, and its trace directory
 * in TRACE, of SIZE bytes; 0: none. */
pid_t registry_find_recorder(const char *parent, pid_t pid, char *trace, size_t size);
