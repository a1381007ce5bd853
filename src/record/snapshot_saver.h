/* SPDX-License-Identifier: MIT */
#pragma once

/* Saves one snapshot at a time. A child of fork() copies the files, so that nothing waits for a disk. The directory
 * gets its name when it is complete. Not thread-safe. */

#include <limits.h>

#include "record/recorder.h"
#include "record/retention.h"
#include "record/snapshot.h"

#define SNAPSHOT_TEXT_MAX (PATH_MAX + 256u)

struct snapshot_saver {
    /* its recording is saved, and messages are reported through it; borrowed */
    struct recorder *recorder;
    char name[SNAPSHOT_NAME_MAX];
    bool is_busy; /* between begin and end */
    pid_t pid;    /* the child; 0: no child runs */
    int answers;  /* descriptor to poll; -1: none */
};

/* What to save. */
struct snapshot_source {
    const struct retention *retention;
    /* for its manifest; NULL: a user asked for the snapshot */
    const struct manifest_snapshot *about;
    /* a moment before the recorders were asked to flush */
    const struct manifest_moment *flushed;
    /* called in the child: closes what must end with the recorder */
    void (*close_inherited)(void *userdata);
    void *userdata;
};

void snapshot_saver_init(struct snapshot_saver *saver, struct recorder *recorder);
/* Creates a directory for NAME; "": for the local time. IS_NUMBERED: if NAME exists, tries NAME-2 and so on. -EEXIST:
 * NAME exists; other -errno. */
int snapshot_saver_begin(struct snapshot_saver *saver, const char *name, bool is_numbered);
/* Starts the child. Returns false if it could not be started; TEXT then says why, and the snapshot has ended. */
bool snapshot_saver_start(struct snapshot_saver *saver, const struct snapshot_source *source,
                          char text[static SNAPSHOT_TEXT_MAX]);
/* Call it when `answers` is readable. Returns true if the snapshot is saved. TEXT: its path, or why it was not
 * saved. */
bool snapshot_saver_end(struct snapshot_saver *saver, char text[static SNAPSHOT_TEXT_MAX]);
/* Ends a snapshot without saving it. */
void snapshot_saver_cancel(struct snapshot_saver *saver);
