/* SPDX-License-Identifier: MIT */
#pragma once

/* A temporary directory owned by a running process, which holds it by flock(), so that the leftovers of
 * a killed process can be found and removed by the next one. */

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
/* Leaves it to the next process, as one that is killed does. */
void locked_dir_leave(struct locked_dir *dir);

/* Of this user: owned by it, or in a PARENT that is owned by it and that no other user can write to, or with a file in it
 * that is owned by it: one that was given to another user, who may have changed all else in it. */

/* Removes this user's unlocked directories in PARENT, if they are empty; with EMPTIES, with the files
 * in them. Those stay whose descriptor KEEPS returns true for; NULL: none. They are locked during the call. */
void locked_dir_sweep(const char *parent, const char *prefix, bool empties,
                      bool (*keeps)(int dir, void *userdata), void *userdata);
/* Calls FOUND for each of this user's locked directories in PARENT; with ANY_USER, for those of all users that it may open, if only
 * root and PARENT's owner can write to PARENT. Stops when FOUND returns other than
 * 0, and returns that. */
int locked_dir_foreach(const char *parent, const char *prefix, bool any_user,
                       int (*found)(const char *path, void *userdata), void *userdata);
