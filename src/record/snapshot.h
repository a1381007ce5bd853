/* SPDX-License-Identifier: MIT */
#pragma once

/* Snapshots of a recording under way: DIR/snapshots/NAME, each an ordinary trace directory. While one is made it is
 * DIR/snapshots/.NAME, which is renamed when it is complete. */

#include "record/recording.h"
#include "record/retention.h"

#define SNAPSHOTS_DIR "snapshots"
#define SNAPSHOT_NAME_MAX 100u /* with the end of the string */

/* Letters, digits, '-', '_' and '.', and not that first. */
bool snapshot_name_is_valid(const char *name);

/* The descriptor of DIR/snapshots, which is made where there is none. -errno. */
int snapshots_open(int dir);

/* Makes the directory of NAME in the descriptor SNAPSHOTS. -EEXIST: there is such a snapshot; another -errno. */
int snapshot_make(int snapshots, const char *name);
/* The same, or where there is one, of NAME-2 and so on, which is then in BUF. */
int snapshot_make_numbered(int snapshots, const char *name, char buf[static SNAPSHOT_NAME_MAX]);

/* Copies what RETENTION has kept of RECORDING into the directory of NAME, which was made, with a manifest that says why (ABOUT),
 * and renames it. The recorders were flushed at FLUSHED. Changes nothing else: a child of fork() may call it. -errno with
 * ERROR. */
int snapshot_save(const struct recording *recording, const struct retention *retention,
                  const char *name, const struct manifest_snapshot *about,
                  const struct manifest_moment *flushed, struct error *error);

/* Removes what has been made of one that was not saved, in the recording's directory DIR. */
void snapshot_remove_unfinished(int dir, const char *name);
