/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the text of QEMU's log backend ("-trace" and "-d trace:" of stock QEMU) as events with values.
 *
 * The bytes that the code from QEMU's scripts/tracetool/backend/log.py writes:
 *
 *     PID@SEC.USEC:NAME TEXT\n           -msg timestamp=on; USEC has six digits; PID is a thread's
 *     NAME TEXT\n                        without
 *     YYYY-MM-DDTHH:MM:SS.USECZ NAME TEXT\n   -msg timestamp=on, newer; without the fraction if it is zero. NAME may
 *                                        have the prefixes "[GUEST] ", "PROGRAM: " and "(TID:THREAD): "
 *
 * TEXT is the event's format with its arguments. It may contain newlines. The same file has all other text that QEMU
 * logs ("-d guest_errors", "in_asm"), anywhere between two events.
 *
 *  L1  A line begins an event if it has the first prefix and a name, or if its first word after any prefix is the name
 *      of a declared event.
 *  L2  An event's text is its line if a declaration's format matches the line. Otherwise, it is the line and as many
 *      following lines that begin no event as the format needs. A format that has a newline and ends with a string
 *      takes all of these lines, so text that QEMU logged right after such an event becomes part of its string.
 *  L3  Formatting the values again by the event's class gives exactly the text. If no declaration does this, the event
 *      has the class of its name with one string, `message`: the text.
 *  L4  Other lines are events of the class `log` with the line as `message`.
 *  L5  Times are of the clock "realtime", in ns with a resolution of 1 us. A line without a time has the time of the
 *      previous line, or of the first line with a time. If the first event has no time, the clock is "line" without a
 *      rate, and times are line numbers from 1.
 *  L6  Bytes of a line beyond QEMU_LOG_LINE_MAX are skipped, and reported as a loss of unknown size.
 *
 * A log is never malformed: only reading can fail. */

#include "base/input.h"
#include "event/source.h"
#include "schema/trace_events/qemu_class.h"

/* A traced monitor logs whole answers of 300 kB. */
#define QEMU_LOG_LINE_MAX ((size_t)512 * 1024)

/* Returns whether HEAD, the first N bytes of a file, looks like such a log. 2: it has lines with the first prefix; 1:
 * it is text whose lines could be events without a prefix, so every other format should be tried first; 0: no. */
int qemu_log_probe(const void *head, size_t n);

/* Opens a log. Takes over IN, even on failure. EVENTS may be NULL; otherwise it must outlive the source. Reads up to
 * the first event to determine the clock. -ENOMEM, or an errno from reading. */
int qemu_log_open(struct input *in, struct catalogue *catalogue, const struct qemu_events *events,
                  struct source **ret_source, struct error *error);
/* Adds a loss of LOST events after the last line. Call before the first run. */
void qemu_log_set_lost(struct source *source, uint64_t lost);
/* States that the log was longer: its last line is left out if it has no newline. Call it before the first run. */
void qemu_log_set_cut(struct source *source);
