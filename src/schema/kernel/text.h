/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of a kernel event, by the kernel's own print format.
 *
 * libtraceevent parses the format; this compiles what comes out into a short list of operations that
 * run over the event's bytes, and never hands it an event: it trusts their lengths, and it takes
 * microseconds per event. The text is what `trace-cmd report -N` (libtraceevent 1.7.1, without
 * plugins) shows, but for:
 *   - control characters in strings, which are written as \xNN, and line breaks in the format, which
 *     become blanks: an event is one line;
 *   - stack traces of the kernel, whose format always prints 8 entries: the entries that are there;
 *   - "%c" and "%+d", which that version does not know and later ones do;
 *   - what makes it crash or read foreign memory: that reads as 0 or as nothing. */

#include "base/arena.h"
#include "base/text.h"
#include "event/item.h"

struct kernel_events;
struct kernel_text;
struct tep_event;

/* Compiles the print format of EVENT into ARENA; nothing of EVENT is kept. Without HAS_PRINT, or if
 * libtraceevent could not parse it, the text lists the fields. -ENOMEM. */
int kernel_text_compile(struct arena *arena, struct kernel_events *events,
                        const struct tep_event *event, bool has_print,
                        const struct kernel_text **ret_text);

/* Compiles the format string of a binary trace_printk(), whose arguments lie packed in the event.
 * -EINVAL: not understood; -ENOMEM. */
int kernel_text_compile_packed(struct arena *arena, struct kernel_events *events,
                               const char *format, size_t len, const struct kernel_text **ret_text);

/* For event_class.put_text; the class's reader_data is the struct kernel_text. */
void kernel_text_put(const struct item *item, struct text *text);

/* Marks those of FIELDS as hexadecimal that the text shows so. */
void kernel_text_mark_hex(const struct kernel_text *text, struct field *fields, unsigned n_fields);

/* Whether it is that of a kernel's stack trace: a field `size`, and after it the addresses. */
bool kernel_text_is_stack(const struct kernel_text *text);

/* Whether the print format could not be parsed, so that the text is a list of fields. */
bool kernel_text_failed(const struct kernel_text *text);
