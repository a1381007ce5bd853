/* SPDX-License-Identifier: MIT */
#pragma once

/* Sorts a source's items if their times step backwards a little, as in files whose writers stamp the time before they
 * reserve space in the buffer. */

#include "event/source.h"

#define REORDER_WINDOW SOURCE_DISORDER_MAX

/* If the clock of an INPUT with `may_restart` starts again, ordering begins anew: its items keep their order.
 *
 * Takes ownership of INPUT. An item that is up to WINDOW items late is sorted. A later item is returned at once, so
 * that nothing is lost (timeline/late.h counts such items); `ordered` is true except for them. Holds at most WINDOW
 * items and their payloads. -ENOMEM: INPUT is also freed. */
int reorder_open(struct source *input, unsigned window, struct source **ret_source);
/* States that INPUT reads from FD, which may be live: if no data arrives for REORDER_TIMEOUT_MS, held items are
 * returned without waiting for more. */
#define REORDER_TIMEOUT_MS 100
void reorder_set_live(struct source *source, int fd);
/* A hint for the user about the order of an INPUT with `may_restart`; NULL: none. *RET_PATH: the trace that it is
 * about. Valid until the next call. */
const char *reorder_hint(struct source *source, const char **ret_path);
/* The latest time that was read; INT64_MIN: none. */
int64_t reorder_newest(const struct source *source);
/* False if an item was or may have been more than WINDOW items late, so that the order depends on where reading
 * began. */
bool reorder_is_certain(const struct source *source);
