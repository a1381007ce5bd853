/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps only the newest part of a recording: its last seconds, or its last bytes.
 *
 * Recorders append to their files as in any recording. From time to time, a mark is made: it notes the sizes of all
 * files, so everything before a mark was written before that moment. If a mark is older than the limit, or if more
 * bytes than the limit follow it, everything before the mark is released (base/sparse.h). The file keeps its length and
 * its offsets, and begins with a hole. So all kept data is in ordinary files at every moment, and can be read after
 * this process was killed. While the disk is nearly full, more is released, so that the recorders can continue to
 * write.
 *
 * The kept part begins where a reader can begin. The kind of a source (tracedir/manifest.h) determines which of its
 * files grow, and where they can begin:
 *
 *     ftrace     cpuN.raw     pages
 *     ctf        stream-N     packets; its program may be writing one
 *     xentrace   the file     windows
 *     qemu-log   the file     lines
 *
 * Of any other kind, everything is kept, without a message: the plan refuses --flight with such a source, for example
 * QEMU's backend simple. Not thread-safe. */

#include "base/error.h"
#include "tracedir/manifest.h"

struct retention_limit {
    uint64_t ns;    /* keep what was written in the last `ns`; 0: no limit */
    uint64_t bytes; /* keep so many bytes in all files; 0: no limit */
};

struct retention;

/* DIR: the open directory of the recording, borrowed. PATH is for messages. If LIMIT is 0, nothing is released.
 * -EOPNOTSUPP with ERROR: the file system cannot release the beginning of a file. */
int retention_new(const struct retention_limit *limit, int dir, const char *path,
                  struct retention **ret, struct error *error);
void retention_free(struct retention *retention);

/* When the next mark is due: CLOCK_MONOTONIC, ns; UINT64_MAX: never. */
uint64_t retention_due(const struct retention *retention);
/* Makes a mark of the files of N SOURCES at NOW, and releases what is beyond the limit. MAY_RELEASE is false while a
 * child copies the files. Marks are still made then, because otherwise data of this time would be kept for longer.
 * -ENOMEM, or another negative errno with ERROR: it will be tried again. */
int retention_step(struct retention *retention, const struct manifest_source *sources, unsigned n,
                   uint64_t now, bool may_release, struct error *error);
/* True if the disk is nearly full, so that less is kept than the limit allows. */
bool retention_is_short(const struct retention *retention);

/* lost: events of SOURCE, in its present state, that were lost since the begin of the kept part; at_end: those of them
 * after its last record. Returns false if this is unknown or RET is incomplete; RET is set nevertheless. */
struct retention_losses {
    uint64_t lost, at_end;
};
bool retention_losses(const struct retention *retention, const struct manifest_source *source,
                      struct retention_losses *ret);

/* Copies the kept part of SOURCE that was written after SINCE (CLOCK_MONOTONIC, ns; 0: everything) to the same paths
 * below the open directory TO, with all other files of its directory. -errno with ERROR. Does not change RETENTION, so
 * a child of fork() may call it. */
int retention_copy(const struct retention *retention, const struct manifest_source *source, int to,
                   uint64_t since, struct error *error);
