/* SPDX-License-Identifier: MIT */
#pragma once

/* Snapshots: copies the content of all rings to a new CTF trace, without stopping or consuming anything. Requested by
 * strata_trace_snapshot(), the control socket, or a signal. */

#include <stddef.h>
#include <stdint.h>

struct snapshot {
    char *path; /* path of the snapshot; allocated */
    uint64_t rings, packets, bytes;
};

/* Saves a snapshot to DIR, in which `%p` is the process ID and `%n` the number of the snapshot. -EINVAL: empty;
 * -EEXIST: it exists (with `%n` the next number is tried); -ENAMETOOLONG; or the errno of a file operation. A failure
 * leaves nothing behind. */
int snapshot_take(const char *dir, struct snapshot *ret);
void snapshot_done(struct snapshot *snapshot);

/* Sets the directory of snapshots that a signal requests. The path is copied. -ENOMEM. */
int snapshot_set_dir(const char *dir);
#define SNAPSHOT_FOLDER "strata-snapshot-%p-%n"

/* Makes this signal trigger a snapshot from now on; 0: none. -EINVAL: not a signal that can be caught;
 * -EBUSY: the program handles it. */
int snapshot_set_signal(int number);
/* Parses the name or number of a signal: "USR2", "SIGUSR2", "12", "RTMIN+3", "off". -EINVAL. */
int snapshot_parse_signal(const char *text, int *ret);

/* In a child of fork(). */
void snapshot_after_fork_child(void);
