/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds where to begin reading a simpletrace file so that no event from a given time on is missed. Only for the reader.
 *
 * The begin of a record has no mark, and an argument may contain bytes that look like records. So in a range of three
 * times the longest record, every byte is tried as the begin of a chain of records that the reader would accept. The
 * chain of the real records is one of them, because reading from the front accepts it. If all chains that reach the end
 * of the range leave it at the same place, that place is the begin of a record. Otherwise nothing is certain, and an
 * earlier place is tried.
 *
 * Times: a writer takes the time and then reserves its place, so an event may come later in the file than its time
 * suggests, but never earlier. Reading begins at a place before which many events are all earlier than the time by
 * SIMPLETRACE_SEEK_MARGIN_NS. An event before that place could only be of the time if each of these events had waited
 * so long for its place. */

#include "base/input.h"
#include "format/simpletrace/ids.h"

#define SIMPLETRACE_SEEK_MARGIN_NS INT64_C(100000000)

/* Finds the latest possible begin of a record in IN from LOW, which is the begin of a record, to before HIGH, such that
 * all events before it are earlier than TIME. IN must be seekable, and is not moved. *RET_OFFSET is LOW if there is no
 * other. -ENOMEM. */
int simpletrace_find_time(const struct input *in, const struct simpletrace_ids *ids, uint64_t low,
                          uint64_t high, int64_t time, uint64_t *ret_offset);

/* Reads the records from FROM, the begin of a record, to TO, and names IDs that have no name yet. -E2BIG; -ENOMEM; or
 * an errno from reading with ERROR. */
int simpletrace_find_names(const struct input *in, struct simpletrace_ids *ids, uint64_t from,
                           uint64_t to, struct error *error);
