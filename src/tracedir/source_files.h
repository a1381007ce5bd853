/* SPDX-License-Identifier: MIT */
#pragma once

/* Lists the files of a source and their lengths. A manifest has the list from when nothing writes to the files any
 * more. By it, readers find files that were cut or not copied.
 *
 *     path       the file, or the files directly in that directory
 *     events     what declares the events
 *     pairs      the clock's pairs
 *
 * Leaves out hidden files, symbolic links, and names that are not UTF-8, which JSON cannot have. */

#include "tracedir/manifest.h"

/* Sets `files` and `n_files` of N SOURCES of the trace in the open directory DIR, in ARENA. A source that cannot be
 * read gets no list. If a source would exceed MANIFEST_FILES_MAX in all, it and the later ones get none. -ENOMEM. */
int source_files_find(int dir, struct manifest_source *sources, unsigned n, struct arena *arena);
