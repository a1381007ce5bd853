/* SPDX-License-Identifier: MIT */
#pragma once

/* Indexes of traces, kept in a directory of the user's.
 *
 *     DIRECTORY/index/KEY.index    an index; KEY is a hash of the paths, sizes, times and inodes of all files of the
 *                                  trace, and of what else the index depends on
 *     DIRECTORY/index/KEY.new      the same while it is built
 *     DIRECTORY/index/KEY.lock     locked (flock) by the process that builds it
 *
 * An index gets its name when it is complete and on the disk, so that a crash leaves nothing that is taken for one. The time of
 * the file is that of its last use. Building an index removes others (`max_size`, `max_unused_s`), which stay readable for
 * those who have them open. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct index;

struct index_cache_request {
    const char *directory;    /* "$XDG_CACHE_HOME/strata"; made, of mode 0700, if it is not there */
    const char *const *paths; /* of the traces */
    unsigned n_paths;
    const char *
        settings; /* all else that the index depends on, as options that were given; NULL: nothing */
    /* After an index is built: how many bytes all may have, beside the one that was built, and for how many seconds an index
     * is kept that is not used. */
    uint64_t max_size, max_unused_s;
    /* Builds the index in FD, an empty file. 0, or a negative errno with ERROR, and nothing is kept. */
    int (*build)(void *arg, int fd, struct error *error);
    void *arg;
    /* Becomes true: does not wait for another process any longer, -ECANCELED; NULL: never. */
    const atomic_bool *stops;
};

/* Opens the index of REQUEST from the cache, or builds it. While another process builds it, waits for that one.
 * *RET_BUILT, which may be NULL: whether it was built. A negative errno with ERROR. */
int index_cache_open(const struct index_cache_request *request, struct index **ret_index,
                     bool *ret_built, struct error *error);

/* What an index is kept under: it changes when the traces of REQUEST do. A negative errno with ERROR. */
#define INDEX_CACHE_KEY_SIZE 65 /* hexadecimal digits of a SHA-256, and a NUL */
int index_cache_key(const struct index_cache_request *request, char ret_key[INDEX_CACHE_KEY_SIZE],
                    struct error *error);
/* The same, but it does not change with the number of names that the files of the traces have, as those of a snapshot while the
 * recording goes on. Nor does it when the times of changed data are set back. */
int index_cache_data_key(const struct index_cache_request *request,
                         char ret_key[INDEX_CACHE_KEY_SIZE], struct error *error);

/* Opens a file in the directory of REQUEST that has no name: an index that will not be kept. A crash leaves nothing of
 * it. Its descriptor, or a negative errno with ERROR. */
int index_cache_open_unnamed(const struct index_cache_request *request, struct error *error);
