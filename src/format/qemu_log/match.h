/* SPDX-License-Identifier: MIT */
#pragma once

/* Reverses printf: converts the text that a format string made back to its values.
 *
 * A format is compiled once to a pattern, a list of steps: a literal, a number of a known form, a string. A number is
 * accepted only in the form in which printf writes it (no extra zeros, within its size), so that formatting the values
 * again gives exactly the same text.
 *
 * If a text can be split in several ways ("%s %s" over "a b c"), each string except the last is as short as the rest
 * allows. A literal that also occurs inside a string ends the string only if everything after it matches. */

#include "base/arena.h"
#include "base/text.h"
#include "event/class.h"

struct log_pattern;

/* Working memory for matching; one per reader, reused from line to line. */
struct log_matcher;

int log_matcher_new(struct log_matcher **ret_matcher);
struct log_matcher *log_matcher_free(struct log_matcher *matcher);

/* Compiles class->format. The fields must be 8-byte scalars and counted strings in this machine's byte order, one after
 * the other (schema/trace_events/qemu_class.h). A class without format and fields has the pattern of an empty text.
 * -EINVAL: the class has no format that can be reversed (fields without a format, a format that does not fit the
 * fields, floating point); -ENOMEM. */
int log_pattern_compile(struct arena *arena, const struct event_class *class,
                        const struct log_pattern **ret_pattern);

/* True if the format itself has a newline, so that an event has several lines. */
bool log_pattern_is_multiline(const struct log_pattern *pattern);

/* Limit of the payload of a text of LEN bytes, for any class. */
#define LOG_PAYLOAD_MAX(len) ((len) + 12 * 128)

/* Matches TEXT. With LINES, the match may end at any line end in TEXT; otherwise it must consume all of TEXT. A format
 * that has a newline and ends with a string always consumes all of TEXT. PAYLOAD must have room for
 * LOG_PAYLOAD_MAX(len) bytes. Fields without a conversion in the format have no value, and the payload ends before
 * them. Returns false if the text does not match, or if matching would take too long. */
bool log_pattern_match(struct log_matcher *matcher, const struct log_pattern *pattern,
                       const char *text, size_t len, bool lines, uint8_t *payload,
                       uint32_t *ret_size, size_t *ret_taken);
