/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory for the time that somebody works. He has it locked (flock), so that one that was left behind by a process
 * that was killed is told from one in use, and removed by whoever comes next. */

#include "base/macro.h"

struct locked_dir {
    char path[64]; /* "": there is none */
    int fd;        /* locked */
};

/* Makes PARENT/PREFIXxxxxxx, for this user alone. -ENAMETOOLONG, or what the system says. */
int locked_dir_make(const char *parent, const char *prefix, struct locked_dir *ret);
/* Removes it; with EMPTIES the files in it as well, else it stays if there are some. */
void locked_dir_done(struct locked_dir *dir, bool empties);

/* Removes those of this user in PARENT that nobody has locked, if they are empty, or with EMPTIES are made so. */
void locked_dir_sweep(const char *parent, const char *prefix, bool empties);
/* Those of this user in PARENT that are in use. What FOUND returns, if it is not 0, ends it, and is returned. */
int locked_dir_foreach(const char *parent, const char *prefix,
                       int (*found)(const char *path, void *userdata), void *userdata);
