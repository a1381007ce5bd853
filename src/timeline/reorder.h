/* SPDX-License-Identifier: MIT */
#pragma once

/* Puts a source's items in order if their times step backwards a little, as in files of writers that
 * stamp the time before they reserve space in the buffer. */

#include "event/source.h"

#define REORDER_WINDOW SOURCE_DISORDER_MAX

/* Where the clock of an INPUT with `may_restart` starts again, ordering begins anew: its items stay in their order.
 *
 * Takes ownership of INPUT. An item that is up to WINDOW items late is put in order; one that is later
 * still is lent at once, so that nothing is lost (timeline/late.h counts these), and `ordered` is true
 * but for them. Holds at most WINDOW items and their payloads. -ENOMEM (INPUT is then freed too). */
int reorder_open(struct source *input, unsigned window, struct source **ret_source);
/* INPUT reads from FD, which may be live: if no data arrives for REORDER_TIMEOUT_MS, held items are
 * lent without waiting for more. */
#define REORDER_TIMEOUT_MS 100
void reorder_set_live(struct source *source, int fd);
/* What the user should know of the order, of an INPUT with `may_restart`; NULL: nothing. *RET_PATH: of which trace. Valid until the
 * next call. */
const char *reorder_hint(struct source *source, const char **ret_path);
/* The newest time that was read; INT64_MIN: none was. */
int64_t reorder_newest(const struct source *source);
/* False: an item was more than WINDOW items late, or may have been, so that the order depends on where reading began. */
bool reorder_is_certain(const struct source *source);
