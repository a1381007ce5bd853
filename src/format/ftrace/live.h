/* SPDX-License-Identifier: MIT */
#pragma once

/* Decodes the trace of a Linux kernel while it is recorded. The caller passes in files of its tracefs tree (see
 * format/ftrace/ftrace.h) and ring-buffer pages as they come, in memory, and takes out events.
 *
 * The events of one CPU come in order. The pages of different CPUs come in any order, so an event must wait for pages
 * of other CPUs before it can be shown. The caller decides how long, and gets the time when the event's page came.
 *
 * All input is hostile. At most FTRACE_LIVE_FILES_MAX bytes of files are kept. The caller must limit the bytes of
 * waiting pages (ftrace_live_held()) by passing in no more. Not thread-safe. */

#include "event/catalogue.h"
#include "event/source.h"

#define FTRACE_LIVE_FILES_MAX ((size_t)64 << 20)
#define FTRACE_LIVE_CPUS_MAX 4096

struct ftrace_live;

/* NAME, LAYER: of the origin, which is added to CATALOGUE when the first page comes. -ENOMEM. */
int ftrace_live_new(struct catalogue *catalogue, const char *name, enum layer layer,
                    struct ftrace_live **ret_live);
struct ftrace_live *ftrace_live_free(struct ftrace_live *live);

/* Sets or replaces the file PATH of the tree. Takes ownership of TEXT (malloc, LEN bytes and a NUL), even on failure.
 * -E2BIG: beyond the limit, so the file is left out; -ENOMEM. */
int ftrace_live_file(struct ftrace_live *live, const char *path, char *text, size_t len);
/* Sets the rate of its clock; 0: unknown. Call it before the first page. */
void ftrace_live_set_hz(struct ftrace_live *live, uint64_t hz);

/* Adds SIZE bytes of CPU's pages, at OFFSET in everything that the CPU sends. If bytes before OFFSET did not come,
 * reading continues at the next page after the gap, with a loss before it. CAME: when the bytes came, by any clock.
 * -EBADMSG with ERROR: they cannot be read at all (the format of pages is unknown, or no such CPU); -ENOMEM. */
int ftrace_live_pages(struct ftrace_live *live, uint32_t cpu, uint64_t offset, const void *p,
                      size_t size, uint64_t came, struct error *error);
/* Call it when nothing more comes. If the last bytes of a CPU did not come, its last item is a loss. */
void ftrace_live_end(struct ftrace_live *live);
/* Bytes of waiting pages. */
size_t ftrace_live_held(const struct ftrace_live *live);
/* Its origin; NULL before the first page. A caller that converts times may change the clock. */
struct origin *ftrace_live_origin(const struct ftrace_live *live);

/* Returns the waiting item with the lowest time. The item and its payload are valid, and may be changed, until
 * ftrace_live_take(). *RET_CAME: when the oldest waiting page came. False: no item. */
bool ftrace_live_look(struct ftrace_live *live, struct item **ret_item, uint64_t *ret_came);
/* Removes the item that ftrace_live_look() returned. */
void ftrace_live_take(struct ftrace_live *live);
