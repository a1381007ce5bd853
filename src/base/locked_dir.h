/* SPDX-License-Identifier: MIT */
#pragma once

/* A temporary directory that a running process holds by flock(). The next process finds and removes the directory of a
 * killed process. */

#include "base/macro.h"

struct locked_dir {
    char path[64]; /* "": none */
    int fd;        /* locked */
};

/* Creates PARENT/PREFIXxxxxxx, accessible to this user only, and locks it. -ENAMETOOLONG, or an errno
 * of the file system. */
int locked_dir_make(const char *parent, const char *prefix, struct locked_dir *ret);
/* Removes it if it is empty; with EMPTIES, removes the files in it first. */
void locked_dir_done(struct locked_dir *dir, bool empties);
/* Leaves the directory to the next process, as a killed process does. */
void locked_dir_leave(struct locked_dir *dir);

/* A directory is this user's if the user owns it, if the user owns PARENT and no other user can write there, or if the user
 * owns a file in it. The last is a directory that was given to another user, who may have changed all else in it. */

/* Removes this user's unlocked directories in PARENT, if they are empty; with EMPTIES, with the files
 * in them. Those stay whose descriptor KEEPS returns true for; NULL: none. They are locked during the call. */
void locked_dir_sweep(const char *parent, const char *prefix, bool empties,
                      bool (*keeps)(int dir, void *userdata), void *userdata);
/* Calls FOUND for each of this user's locked directories in PARENT. With ANY_USER, also for directories of other users that
 * this user may open, if only root and PARENT's owner can write to PARENT. Stops when FOUND returns other than 0, and returns
 * that. */
int locked_dir_foreach(const char *parent, const char *prefix, bool any_user,
                       int (*found)(const char *path, void *userdata), void *userdata);
