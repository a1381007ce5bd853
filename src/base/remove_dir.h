/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Removes the directory NAME, relative to the open directory DIR (or AT_FDCWD), with its contents. Symbolic links are removed,
 * not followed. Returns true if it is gone. Safe in signal handlers. */
bool remove_dir_at(int dir, const char *name);
/* Removes the contents of the open directory DIR, which stays. */
void remove_dir_entries(int dir);
