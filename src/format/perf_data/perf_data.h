/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads perf.data, the file that `perf record` writes (also `perf kvm record`, `perf sched record` and so on), and the
 * stream of `perf record -o -`. All numbers are in the byte order of the recording machine.
 *
 * A file begins so:
 *   bytes     what
 *   0..7      "PERFILE2", of a big-endian machine "2ELIFREP"
 *   8..15     u64 size of this header, 104 bytes or more
 *   16..23    u64 size of an entry of `attributes`
 *   24..39    section `attributes`: u64 offset, u64 size
 *   40..55    section of records; size 0: perf did not finish
 *   56..71    section of old event types, unused
 *   72..103   256 bits: which features there are, bit n for feature n
 * An entry of `attributes` is a perf_event_attr (format/perf_data/attr.h) and, in its last 16 bytes, the section of the
 * event's IDs, u64 each. After the records there is a section (u64 offset, u64 size) for each feature, in ascending
 * order (format/perf_data/feature.h).
 *
 * A stream begins with the first 16 bytes; the size is 16. Its attributes and features are records.
 *
 * A record:
 *   0..3      u32 type: below 64 the kernel's, from 64 on perf's own (format/perf_data/layout.h)
 *   4..5      u16 misc: bits by type
 *   6..7      u16 size of the whole record
 *   8..       its body
 * Types 66, 71 and 83 are followed by bytes that their size does not count. A record of type 81 or 83 holds a piece of
 * a zstd stream of records.
 *
 * The sample_type of its attribute determines the parts of a sample's body, in this order:
 *   bit 16 identifier, 0 ip, 1 pid and tid, 2 time, 3 addr, 6 id, 9 stream id, 7 cpu, 8 period (8 bytes each);
 *   4 read values; 5 u64 n, n u64: call chain; 10 u32 size, bytes: raw; others, which are not read here
 * With sample_id_all, other records of the kernel end with the selected ones of: pid and tid, time, id, stream id, cpu,
 * identifier. The raw bytes of a tracepoint are the kernel's own record of the event, as in its ring buffer.
 *
 * Order: perf copies the content of each CPU's buffer, one after the other, and then writes a record FINISHED_ROUND.
 * Records after a FINISHED_ROUND are not earlier than the latest record before the previous FINISHED_ROUND.
 *
 * Source: linux/perf_event.h, Linux tools/perf/Documentation/perf.data-file-format.txt, perf_event_open(2), and files of
 * perf 6.1 compared with what `perf script` makes of them. */

#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"

/* Bytes of input that the reader needs at once: a record and its header. */
#define PERF_DATA_INPUT_SIZE ((size_t)128 * 1024)

/* True if a file that begins with these bytes is a perf.data. */
bool perf_data_is(const void *head, size_t size);
/* True if it is a stream, which can be read from a pipe. */
bool perf_data_is_stream(const void *head, size_t size);

/* Opens the events of a perf.data in the order of time, by the clock that stamped them: the clock of the option -k, or
 * "perf". Tracepoints are events of the kernel; other samples are in the group "perf". Each kind has its own origin
 * with the path NAME. The layer is LAYER_HOST, or LAYER_GUEST if only guests were sampled.
 *
 * Holds the records of two rounds, at most PERF_DATA_HELD_MAX bytes. Beyond that, the older half is returned, and later
 * records that are too late are returned at once. Up to PERF_DATA_WAITING_MAX bytes wait longer, until each CPU has a
 * later record, which may be a loss (item->before_loss). Takes over IN, even on failure. IN must be seekable unless it
 * is a stream. */
#define PERF_DATA_HELD_MAX ((size_t)256 * 1024 * 1024)
#define PERF_DATA_WAITING_MAX ((size_t)16 * 1024 * 1024)
int perf_data_open(struct input *in, const char *name, struct catalogue *catalogue,
                   const struct reader_options *options, struct source **ret_source,
                   struct error *error);
