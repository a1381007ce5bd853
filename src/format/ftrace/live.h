/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace of a Linux kernel while it is made: files of its tracefs tree (format/ftrace/ftrace.h has which) and pages
 * of its CPUs' ring buffers are handed over as they come, in memory, and events come out.
 *
 * Of one CPU they come out in order. CPUs' pages do not come in order of each other, so an event waits for those
 * of others before it can be shown; the caller says how long, and when its page came.
 *
 * Everything that is handed over is hostile. Files are kept up to FTRACE_LIVE_FILES_MAX bytes together; how many
 * bytes of pages wait (ftrace_live_held()) is for the caller to keep within bounds, by not handing over more.
 * Not thread-safe. */

#include "event/catalogue.h"
#include "event/source.h"

#define FTRACE_LIVE_FILES_MAX ((size_t)64 << 20)
#define FTRACE_LIVE_CPUS_MAX 4096

struct ftrace_live;

/* NAME, LAYER: of its origin, which is added to CATALOGUE when its first page comes. -ENOMEM. */
int ftrace_live_new(struct catalogue *catalogue, const char *name, enum layer layer,
                    struct ftrace_live **ret_live);
struct ftrace_live *ftrace_live_free(struct ftrace_live *live);

/* Sets or replaces the file PATH of the tree. Takes ownership of TEXT (from malloc, LEN bytes and a NUL), also when it
 * fails. -E2BIG: that is more than is kept, and it is left out; -ENOMEM. */
int ftrace_live_file(struct ftrace_live *live, const char *path, char *text, size_t len);
/* The rate of its clock, where it is known; 0: not. Before the first page. */
void ftrace_live_set_hz(struct ftrace_live *live, uint64_t hz);

/* SIZE bytes of CPU's pages, which stand at OFFSET of all that it sends. Where bytes before OFFSET did not come, what
 * follows the gap is read from the next page on, with a loss before it. CAME: when, of any clock. -EBADMSG with ERROR:
 * this cannot be read at all (the format of pages is unknown, or there is no such CPU); -ENOMEM. */
int ftrace_live_pages(struct ftrace_live *live, uint32_t cpu, uint64_t offset, const void *p,
                      size_t size, uint64_t came, struct error *error);
/* Nothing more comes: where the last bytes of a CPU did not, a loss is its last item. */
void ftrace_live_end(struct ftrace_live *live);
/* Bytes of pages that wait. */
size_t ftrace_live_held(const struct ftrace_live *live);
/* Its origin; NULL before the first page. The clock may be changed by a caller that changes the times. */
struct origin *ftrace_live_origin(const struct ftrace_live *live);

/* The item of the lowest time among those that wait. It and its payload are good, and may be changed, until
 * ftrace_live_take(). *RET_CAME: when the oldest page that waits came. False: there is none. */
bool ftrace_live_look(struct ftrace_live *live, struct item **ret_item, uint64_t *ret_came);
/* Done with the item that was looked at. */
void ftrace_live_take(struct ftrace_live *live);
