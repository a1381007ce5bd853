/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of a kernel event, by the kernel's print format.
 *
 * A format is compiled once into a short list of operations that run over the event's bytes. The text is the same as by
 * `trace-cmd report -N` (libtraceevent 1.7.1, without plugins), except for:
 *   - operators, which group as in C; names of constants (kernel_word_value()); and tabs in the format;
 *   - control characters in strings, which become \xNN, and line breaks in the format, which become
 *     blanks: an event is one line;
 *   - stack traces of the kernel, whose format always prints 8 entries: the entries that are there;
 *   - "%c" and "%+d", which later versions support;
 *   - input that makes it crash or read out of bounds: it reads as 0 or as nothing. */

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "event/item.h"

struct kernel_events;
struct kernel_event_format;
struct kernel_text;

/* Compiles the print format of FORMAT into ARENA. FORMAT and SCRATCH, where the tree is built, are not
 * needed afterwards. If the print format is invalid, ERROR says why (PATH is for it), and the text
 * lists the fields. is_ftrace: the event belongs to the system `ftrace`. -ENOMEM. */
int kernel_text_compile(struct arena *arena, struct arena *scratch, struct kernel_events *events,
                        const struct kernel_event_format *format, bool is_ftrace, const char *path,
                        const struct kernel_text **ret_text, struct error *error);

/* Compiles the format string of a binary trace_printk(), whose arguments are packed in the event.
 * -EINVAL: not understood; -ENOMEM. */
int kernel_text_compile_packed(struct arena *arena, struct kernel_events *events,
                               const char *format, size_t len, const struct kernel_text **ret_text);

/* For event_class.put_text; the class's reader_data is the struct kernel_text. */
void kernel_text_put(const struct item *item, struct text *text);

/* Marks the fields that the text shows as hexadecimal. */
void kernel_text_mark_hex(const struct kernel_text *text, struct field *fields, unsigned n_fields);

/* True for the text of a kernel's stack trace: a field `size`, followed by the addresses. */
bool kernel_text_is_stack(const struct kernel_text *text);
