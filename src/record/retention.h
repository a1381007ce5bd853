/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the newest part of what a recording writes: its last seconds, or so many bytes.
 *
 * Recorders append to their files as in any recording. From time to time the sizes of all files are noted, which is a mark:
 * what lies before it was written before that moment. Where a mark is older than the limit, or more bytes than the limit follow it,
 * what lies before it is released (base/sparse.h): the file keeps its length and its offsets, and begins with a hole. So
 * whatever is kept is in ordinary files at every moment, and can be read after this process was killed. While the disk is nearly
 * full, more is released, so that the recorders can write on.
 *
 * What is kept begins where a reader can begin: at a page of a kernel, a packet, a window of Xen's records, a line of
 * QEMU's log. Which files grow follows from the kind of a source (tracedir/manifest.h):
 *
 *     ftrace     cpuN.raw     pages
 *     ctf        stream-N     packets; its program may be writing one
 *     xentrace   the file     windows
 *     qemu-log   the file     lines
 *
 * Of any other kind everything is kept, and nobody is told: the plan refuses --flight where such a source would be recorded,
 * as QEMU's backend simple. Not thread-safe. */

#include "base/error.h"
#include "tracedir/manifest.h"

struct retention_limit {
    uint64_t ns;    /* what was written to the files in the last `ns`; 0: any time */
    uint64_t bytes; /* of all files; 0: any number */
};

struct retention;

/* Of the recording in the open directory DIR, which is borrowed; PATH is for messages. Where LIMIT is 0, nothing is
 * released. -EOPNOTSUPP with ERROR: the file system cannot release the beginning of a file. */
int retention_new(const struct retention_limit *limit, int dir, const char *path,
                  struct retention **ret, struct error *error);
void retention_free(struct retention *retention);

/* CLOCK_MONOTONIC, ns, when the next mark is due; UINT64_MAX: never. */
uint64_t retention_due(const struct retention *retention);
/* Makes a mark at NOW of the files of N SOURCES, and releases what is beyond the limit, unless a child copies, which must find
 * what it looks for: without a mark meanwhile, what was written then would be kept for as much longer. -ENOMEM, or another
 * negative errno with ERROR: it will be tried again. */
int retention_step(struct retention *retention, const struct manifest_source *sources, unsigned n,
                   uint64_t now, bool may_release, struct error *error);
/* Whether the disk is nearly full, so that less is kept than the limit allows. */
bool retention_is_short(const struct retention *retention);

/* How many events of SOURCE, as it is now, were lost since what is kept begins, and how many of these after its last record.
 * False: that is not known, or RET is not all; RET is set nevertheless. */
struct retention_losses {
    uint64_t lost, at_end;
};
bool retention_losses(const struct retention *retention, const struct manifest_source *source,
                      struct retention_losses *ret);

/* Copies what is kept of SOURCE, and was written after SINCE (CLOCK_MONOTONIC, ns; 0: all), to the same paths below the
 * open directory TO, with all else that its directory has. -errno with ERROR. Does not change RETENTION: a child of fork()
 * may call it. */
int retention_copy(const struct retention *retention, const struct manifest_source *source, int to,
                   uint64_t since, struct error *error);
