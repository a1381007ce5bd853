/* SPDX-License-Identifier: MIT */
#pragma once

/* Which files a source has, and how long they are. A manifest states that when nothing writes to them any more: a reader
 * finds what was cut, or not copied, by it.
 *
 *     path       the file, or the files in that directory, not those in directories below it
 *     events     what declares the events
 *     pairs      of its clock
 *
 * Hidden files, symbolic links, and names that are not UTF-8, which JSON cannot have, are left out. */

#include "tracedir/manifest.h"

/* Sets `files` and `n_files` of the N SOURCES of the trace in the open directory DIR, in ARENA. What cannot be read has none;
 * from the source on with which there would be more than MANIFEST_FILES_MAX, none has. -ENOMEM. */
int source_files_find(int dir, struct manifest_source *sources, unsigned n, struct arena *arena);
