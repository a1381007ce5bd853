/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of QEMU's log backend ("-trace" and "-d trace:" of stock QEMU), as events with values.
 *
 * The bytes, as written by the backend that QEMU's scripts/tracetool/backend/log.py generates:
 *
 *     PID@SEC.USEC:NAME TEXT\n           -msg timestamp=on; USEC has six digits; PID is a thread's
 *     NAME TEXT\n                        without
 *     YYYY-MM-DDTHH:MM:SS.USECZ NAME TEXT\n   -msg timestamp=on, newer; the fraction is missing
 *                                        where it is zero. Before NAME may stand "[GUEST] ",
 *                                        "PROGRAM: " and "(TID:THREAD): "
 *
 * TEXT is the event's format with its arguments put in. It may hold newlines. The same file holds all
 * other text that QEMU logs ("-d guest_errors", "in_asm"), anywhere between two events.
 *
 *  L1  A line begins an event when it has the first prefix and a name, or when its first word after
 *      any prefix is the name of a declared event.
 *  L2  An event's text is its line, if a declaration's format matches that; else the line and as many
 *      of those after it that begin no event as the format needs; a format that holds a newline and
 *      ends in a string takes all of them. (So text that QEMU logged right after such an event reads
 *      as its string.)
 *  L3  Values formatted again by the event's class give the text back. Where no declaration does, the
 *      event has the class of its name with one string, `message`: the text.
 *  L4  Other lines are events of the class `log` with the line as `message`.
 *  L5  Times are of the clock "realtime", in ns at a resolution of 1 us; a line without a time has
 *      that of the line before, or of the first that has one. Where the first event has no time, the
 *      clock is "line" with no rate, and times are line numbers from 1.
 *  L6  Bytes of a line beyond QEMU_LOG_LINE_MAX are skipped, and reported as a loss of unknown size.
 *
 * A log is never malformed: only reading can fail. */

#include "base/input.h"
#include "event/source.h"
#include "schema/trace_events/qemu_class.h"

/* A monitor that is traced logs whole answers of 300 kB. */
#define QEMU_LOG_LINE_MAX ((size_t)512 * 1024)

/* Whether HEAD, the first N bytes of a file, looks like such a log. 2: it has lines with the first
 * prefix; 1: it is text whose lines could be events without (nothing else should claim it); 0: no.
 */
int qemu_log_probe(const void *head, size_t n);

/* Takes over IN (also on failure). EVENTS may be NULL, else it must outlive the source. Reads up to
 * the first event, to know the clock. -ENOMEM, or an errno from reading. */
int qemu_log_open(struct input *in, struct catalogue *catalogue, const struct qemu_events *events,
                  struct source **ret_source, struct error *error);
/* Adds a loss of LOST events after the last line. Call before the first run. */
void qemu_log_set_lost(struct source *source, uint64_t lost);
/* The log was longer: its last line is left out if no newline ends it. Call before the first run. */
void qemu_log_set_cut(struct source *source);
