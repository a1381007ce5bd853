/* SPDX-License-Identifier: MIT */
#pragma once

/* A source whose times step backwards a little, in order: writers that stamp the time before they
 * take their place in the buffer leave such files. */

#include "event/source.h"

#define REORDER_WINDOW SOURCE_DISORDER_MAX

/* Takes over INPUT. An item that comes up to WINDOW items too late is put in its place; one that
 * comes later still is lent as soon as it is seen, so that nothing is lost and `ordered` is true
 * but for those, which reorder_late() counts. Holds at most WINDOW items and their payloads.
 * -ENOMEM (INPUT is then freed too). */
int reorder_open(struct source *input, unsigned window, struct source **ret_source);
/* INPUT reads from FD, which may be live: when nothing comes from it for REORDER_TIMEOUT_MS, what is
 * held back is lent without waiting for more. */
#define REORDER_TIMEOUT_MS 100
void reorder_set_live(struct source *source, int fd);
uint64_t reorder_late(const struct source *source);
