/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the text output of Linux's tracers as events: of ftrace (`trace`, `trace_pipe`, `trace-cmd report`, the pages
 * of systrace and atrace) and of `perf script`. line.h describes the lines.
 *
 *  T1  Each line that describes an event becomes an event with its time, CPU, thread and unchanged text. A line
 *      "sys_CALL(…)" or "sys_CALL -> …" becomes the event sys_enter_CALL or sys_exit_CALL, with the text that this
 *      event has in other outputs.
 *  T2  Events of the scheduler, block devices, interrupts, system calls and trace_marker have fields if their text has
 *      the form in fields.c or named.h. So have all events with the option `fields`. Other events have one field,
 *      `text`. A hint reports events of fields.c with another text.
 *  T3  Skipped are lines that begin with '#', empty lines, perf's call chains (they begin with a tabulator), the
 *      kernel's stacks ("=>"), trace-cmd's own messages, and everything in an HTML page except its trace. Lines without
 *      a CPU after a line of trace_marker are also skipped, because its text may have newlines; a hint counts them.
 *  T4  Any other line is a loss of unknown size (LOSS_UNREADABLE). So is the part of a line beyond
 *      KERNEL_TEXT_LINE_MAX.
 *  T5  If ftrace reports events that were overwritten before the first event, this is a loss. Each further CPU then has
 *      a possible loss before its first event.
 *  T6  If a line reports a loss of a CPU, the lost events are between the CPU's last event and the event of the next
 *      line. The event before has `before_loss` if the text can be read twice (T9), or if the loss has been read by
 *      then.
 *  T7  Refused are texts without facts that an event needs (forms.h), and the text of the option latency-format,
 *      because its times are relative to the first event and its names are cut.
 *  T8  Times are of an unnamed clock, in ns with the resolution of the text, or of a clock of ticks without a rate.
 *  T9  A file is looked through before its first event is returned: for losses of any length; for the begin of the last
 *      CPU that lost events before (origin->lost_begin); and to find out whether the text is of one CPU
 *      (per_cpu/cpu0/trace) although its head names several, so that the others were not recorded. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"

#define KERNEL_TEXT_LINE_MAX ((size_t)16 * 1024)

/* True if a file that begins with the N bytes at HEAD is such a text. */
bool kernel_text_probe(const void *head, size_t n);

/* True if the N bytes at HEAD end within the header of `perf script --header` or within the line after it, so that the
 * format cannot be recognised yet. */
bool kernel_text_is_in_header(const void *head, size_t n);

/* Takes over IN, even on failure. Reads up to the first event to determine the clock. -ENOMEM; -EOPNOTSUPP (T7); or an
 * errno from reading. */
int kernel_text_open(struct input *in, struct catalogue *catalogue, struct source **ret_source,
                     struct error *error);

/* Call it before the first item of SOURCE. States that CPUS and, with THREADS, also threads were left out of the text,
 * so that nothing is known of them. */
void kernel_text_leave_out(struct source *source, const struct cpu_set *cpus, bool threads);

/* Call it before the first item of SOURCE, if its origin has `ends_apart`. Finds the ends of CPUS, if the text can be
 * read twice: the last event of each CPU, except of the CPU that ends last, then has `before_loss`. Returns 0, -ENOMEM,
 * or an errno from reading. */
int kernel_text_find_ends(struct source *source, const struct cpu_set *cpus, struct error *error);
