/* SPDX-License-Identifier: MIT */
#pragma once

/* Where in a simpletrace file to begin reading, so that no event from a time on is missed. For the reader alone.
 *
 * Nothing in the file marks the beginning of a record, and an argument may hold bytes that look like records. Therefore:
 * in a stretch of three of the longest records, every byte is tried as the beginning of a chain of records that
 * the reader would accept. The chain of the real records is one of them, because reading from the front accepts it.
 * Where all chains that reach the end of the stretch leave it at the same place, that place is the beginning of a
 * record. Otherwise nothing is certain, and an earlier place is looked for.
 *
 * Times: a writer takes the time and then reserves its place, so an event may stand later than its time suggests,
 * never earlier. Reading begins where all of many events are older than the time, by SIMPLETRACE_SEEK_MARGIN_NS. An
 * event before that place could be of the time only if each of these many had waited so long for its place. */

#include "base/input.h"
#include "format/simpletrace/ids.h"

#define SIMPLETRACE_SEEK_MARGIN_NS INT64_C(100000000)

/* A place of IN at or after LOW, which is one of a record, and before HIGH: as late as can be found, such that all events
 * before it are older than TIME. IN is seekable, and is not moved. LOW where there is none. -ENOMEM. */
int simpletrace_find_time(const struct input *in, const struct simpletrace_ids *ids, uint64_t low,
                          uint64_t high, int64_t time, uint64_t *ret_offset);

/* Reads the records from FROM, which is a place of one, to TO, and names the ids that these name and that have no name.
 * -E2BIG, -ENOMEM, or an errno from reading, but for the first with ERROR. */
int simpletrace_find_names(const struct input *in, struct simpletrace_ids *ids, uint64_t from,
                           uint64_t to, struct error *error);
