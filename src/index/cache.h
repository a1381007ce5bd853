/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps indexes of traces in a directory of the user.
 *
 *     DIRECTORY/index/KEY.index    an index; KEY is a hash of the paths, sizes, times and inodes of all files of the
 *                                  trace, and of what else the index depends on
 *     DIRECTORY/index/KEY.new      the same while it is built
 *     DIRECTORY/index/KEY.lock     locked (flock) by the process that builds it
 *
 * An index gets its name when it is complete and on disk, so an incomplete index is never used after a crash. The
 * file's modification time is the time of its last use. Building an index removes others (`max_size`, `max_unused_s`).
 * Processes that have these open can still read them. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct index;

struct index_cache_request {
    const char *directory;    /* "$XDG_CACHE_HOME/strata"; made with mode 0700 if necessary */
    const char *const *paths; /* of the traces */
    unsigned n_paths;
    const char *settings; /* all other options on which the index depends; may be NULL */
    /* After an index is built: the largest size of all others in bytes, and for how many seconds an unused index is
     * kept. */
    uint64_t max_size, max_unused_s;
    /* Builds the index in FD, an empty file. 0, or a negative errno with ERROR; then nothing is kept. */
    int (*build)(void *arg, int fd, struct error *error);
    void *arg;
    /* When it becomes true, waiting for another process ends with -ECANCELED. May be NULL. */
    const atomic_bool *stops;
};

/* Opens the index of REQUEST from the cache, or builds it. If another process is building it, waits. *RET_BUILT (may be
 * NULL): it was built. A negative errno with ERROR. */
int index_cache_open(const struct index_cache_request *request, struct index **ret_index,
                     bool *ret_built, struct error *error);

/* Makes the key of the index, which changes when the traces of REQUEST change. A negative errno with ERROR. */
#define INDEX_CACHE_KEY_SIZE 65 /* hexadecimal digits of a SHA-256, and a NUL */
int index_cache_key(const struct index_cache_request *request, char ret_key[INDEX_CACHE_KEY_SIZE],
                    struct error *error);
/* The same, but the key does not depend on the number of links to the traces' files, which changes for a snapshot while
 * the recording continues. It may not change if data change and their times are set back. */
int index_cache_data_key(const struct index_cache_request *request,
                         char ret_key[INDEX_CACHE_KEY_SIZE], struct error *error);

/* Opens a file without a name in the directory of REQUEST, for an index that is not kept. Nothing of it remains after a
 * crash. Returns its descriptor, or a negative errno with ERROR. */
int index_cache_open_unnamed(const struct index_cache_request *request, struct error *error);
