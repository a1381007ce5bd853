/* SPDX-License-Identifier: MIT */
#pragma once

/* Snapshots of a running recording: DIR/snapshots/NAME, each an ordinary trace directory. A snapshot is written to
 * DIR/snapshots/.NAME, which is renamed when it is complete. */

#include "record/recording.h"
#include "record/retention.h"

#define SNAPSHOTS_DIR "snapshots"
#define SNAPSHOT_NAME_MAX 100u /* with the terminating NUL */

/* True if NAME consists of letters, digits, '-', '_' and '.', and does not begin with '.'. */
bool snapshot_name_is_valid(const char *name);

/* Opens DIR/snapshots, and creates it if it is missing. Returns the descriptor or -errno. */
int snapshots_open(int dir);

/* Creates the directory of NAME in the descriptor SNAPSHOTS. -EEXIST: this snapshot exists; other -errno. */
int snapshot_make(int snapshots, const char *name);
/* The same, but if NAME exists, tries NAME-2 and so on. BUF gets the name. */
int snapshot_make_numbered(int snapshots, const char *name, char buf[static SNAPSHOT_NAME_MAX]);

/* Copies the part of RECORDING that RETENTION keeps into the directory of NAME, which must exist, writes a manifest
 * with ABOUT, and renames the directory. The recorders were flushed at FLUSHED. Changes nothing else, so a child of
 * fork() may call it. -errno with ERROR. */
int snapshot_save(const struct recording *recording, const struct retention *retention,
                  const char *name, const struct manifest_snapshot *about,
                  const struct manifest_moment *flushed, struct error *error);

/* Removes the files of a snapshot that was not saved, in the recording's directory DIR. */
void snapshot_remove_unfinished(int dir, const char *name);
