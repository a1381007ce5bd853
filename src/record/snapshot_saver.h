/* SPDX-License-Identifier: MIT */
#pragma once

/* Saves one snapshot after the other: a child of fork() copies the files, so that nothing waits for a disk. The directory has
 * its name when it is complete. Not thread-safe. */

#include <limits.h>

#include "record/recorder.h"
#include "record/retention.h"
#include "record/snapshot.h"

#define SNAPSHOT_TEXT_MAX (PATH_MAX + 256u)

struct snapshot_saver {
    struct recorder *recorder; /* whose recording and messages these are; borrowed */
    char name[SNAPSHOT_NAME_MAX];
    bool is_busy; /* between begin and end */
    pid_t pid;    /* the child; 0: it does not run */
    int answers;  /* poll this one; -1 */
};

/* What is saved. */
struct snapshot_source {
    const struct retention *retention;
    const struct manifest_snapshot *about; /* of its manifest; NULL: somebody asked for it now */
    const struct manifest_moment *flushed; /* before the recorders were asked for what they hold */
    void (*close_inherited)(void *userdata); /* in the child: what must end with the recorder */
    void *userdata;
};

void snapshot_saver_init(struct snapshot_saver *saver, struct recorder *recorder);
/* Makes a directory for NAME; "": for the local time. With IS_NUMBERED, NAME-2 and so on if there is one of that name. -EEXIST:
 * there is; -errno. */
int snapshot_saver_begin(struct snapshot_saver *saver, const char *name, bool is_numbered);
/* Starts the child. False: it could not be started; TEXT says why, and the snapshot has ended. */
bool snapshot_saver_start(struct snapshot_saver *saver, const struct snapshot_source *source,
                          char text[static SNAPSHOT_TEXT_MAX]);
/* After `answers` is readable: whether it is saved. TEXT is its path, or why it was not saved. */
bool snapshot_saver_end(struct snapshot_saver *saver, char text[static SNAPSHOT_TEXT_MAX]);
/* Ends a snapshot that is not saved. */
void snapshot_saver_cancel(struct snapshot_saver *saver);
