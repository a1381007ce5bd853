/* SPDX-License-Identifier: MIT */
#pragma once

/* The text that Linux's tracers print, as events: of ftrace (`trace`, `trace_pipe`, `trace-cmd report`, the pages of systrace
 * and atrace) and of `perf script`. The lines are described in line.h.
 *
 *  T1  Each line that tells an event is one, with its time, CPU and thread, and its text as it stands; of "sys_CALL(…)" and "sys_CALL -> …"
 *      what the event sys_enter_CALL or sys_exit_CALL has as its text elsewhere.
 *  T2  Events of the scheduler, block devices, interrupts, system calls and trace_marker have fields, if their text is as
 *      fields.c or named.h describes, and so have all with the option `fields`; the others have one, `text`. A hint says if an event of
 *      fields.c has another text.
 *  T3  Lines that begin with '#', empty ones, perf's call chains (they begin with a tabulator) and the kernel's stacks ("=>")
 *      are passed over, and so are trace-cmd's own and all of a page in HTML but its trace.
 *      So are lines without a CPU after one of trace_marker, whose text may have newlines: a hint counts them.
 *  T4  Any other line is a loss of unknown size (LOSS_UNREADABLE), and so is what of a line exceeds KERNEL_TEXT_LINE_MAX.
 *  T5  What ftrace says was overwritten before the first event is a loss; so is what may be missing of each further CPU before
 *      its first event, then.
 *  T6  What was lost of a CPU, by a line that says so, is missing between the CPU's last event and the event of the next line.
 *      The event before has `before_loss`, if the text can be read twice (T9) or the loss is among what is read when it is lent.
 *  T7  Refused is what leaves out what an event needs (forms.h), and the text of the option latency-format: its times are those since
 *      the first event, and its names are cut.
 *  T8  Times are of a clock that is not told, in ns at the resolution of the text, or of a clock of ticks with no rate.
 *  T9  A file is looked through before its first event is lent: for losses, however long they are; for when the last of those CPUs
 *      begins that lost events before (origin->lost_begin); and for a text of one CPU (per_cpu/cpu0/trace) of several, by its
 *      head: the others are not recorded. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"

#define KERNEL_TEXT_LINE_MAX ((size_t)16 * 1024)

/* Whether a file that begins with the N bytes HEAD is such a text. */
bool kernel_text_probe(const void *head, size_t n);

/* Whether the N bytes HEAD end within the header of `perf script --header`, or within the line after it: what it is cannot be told yet. */
bool kernel_text_is_in_header(const void *head, size_t n);

/* Takes over IN, also on failure. Reads up to the first event, to know the clock. -ENOMEM, -EOPNOTSUPP (T7), or an errno from reading. */
int kernel_text_open(struct input *in, struct catalogue *catalogue, struct source **ret_source,
                     struct error *error);

/* Before the first item of SOURCE: CPUS, and where THREADS is set threads, are left out of the text: nothing is known of them. */
void kernel_text_leave_out(struct source *source, const struct cpu_set *cpus, bool threads);

/* Before the first item of SOURCE, whose origin ends_apart: finds where CPUS end, if the text can be read twice: the last event of each,
 * but for the one that ends last, has `before_loss`. 0, -ENOMEM, or an errno from reading. */
int kernel_text_find_ends(struct source *source, const struct cpu_set *cpus, struct error *error);
