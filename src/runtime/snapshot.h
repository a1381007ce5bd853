/* SPDX-License-Identifier: MIT */
#pragma once

/* Snapshots: what all rings hold at a moment, as a native trace of its own, without stopping or
 * consuming anything. strata_trace_snapshot(), the control socket, and a signal ask for them. */

#include <stddef.h>
#include <stdint.h>

struct snapshot {
    char *path; /* where it is; allocated */
    uint64_t rings, packets, bytes;
};

/* DIR: `%p` is the process's number, `%n` the number of the snapshot in it.
 * -EINVAL: no name; -EEXIST: something of that name is there (with `%n` in it the next
 * number is taken); -ENAMETOOLONG; else what making files says, and then nothing is left behind. */
int snapshot_take(const char *dir, struct snapshot *ret);
void snapshot_done(struct snapshot *snapshot);

/* Where snapshots go that are asked for by a signal. The path is copied. -ENOMEM. */
int snapshot_set_dir(const char *dir);
#define SNAPSHOT_FOLDER "strata-snapshot-%p-%n"

/* From now on this signal takes a snapshot; 0: none does. -EINVAL: not a signal that may be caught;
 * -EBUSY: the program does something else with it. */
int snapshot_set_signal(int number);
/* "USR2", "SIGUSR2", "12", "RTMIN+3", "off". -EINVAL. */
int snapshot_parse_signal(const char *text, int *ret);

/* In a child of fork(). */
void snapshot_after_fork_child(void);
