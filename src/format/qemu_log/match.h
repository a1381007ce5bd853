/* SPDX-License-Identifier: MIT */
#pragma once

/* printf run backwards: the text that a format string made, turned back into its values.
 *
 * A format is compiled once to a pattern, a list of steps: a literal, a number of a known shape, a
 * string. A number is taken only when it is written as printf writes it (no zeros too many, within
 * its size), so that formatting the values again gives the text back, character for character.
 *
 * Where a text can be split in several ways ("%s %s" over "a b c"), each string but the last is as
 * short as the rest allows; a literal that also occurs inside a string ends it only when
 * everything after it fits. */

#include "base/arena.h"
#include "base/text.h"
#include "event/class.h"

struct log_pattern;

/* What matching needs besides the pattern; one per reader, reused from line to line. */
struct log_matcher;

int log_matcher_new(struct log_matcher **ret_matcher);
struct log_matcher *log_matcher_free(struct log_matcher *matcher);

/* Compiles class->format. The fields must be 8-byte scalars and counted strings in the machine's own
 * byte order, one after the other (schema/trace_events/qemu_class.h). A class without format and
 * fields has the pattern of no text. -EINVAL: the class has no format that can be read back (none but
 * fields, one that does not fit the fields, floating point); -ENOMEM. */
int log_pattern_compile(struct arena *arena, const struct event_class *class,
                        const struct log_pattern **ret_pattern);

/* Whether the format itself holds a newline, so that an event has several lines. */
bool log_pattern_is_multiline(const struct log_pattern *pattern);

/* Bytes of payload that a text of LEN bytes can give at most, for any class. */
#define LOG_PAYLOAD_MAX(len) ((len) + 12 * 128)

/* Matches TEXT. With LINES the match may end at any end of a line in it, else it must take all of
 * TEXT. A format that holds a newline and ends in a string matches all of TEXT in either case.
 * PAYLOAD has room for LOG_PAYLOAD_MAX(len) bytes; fields without a conversion in the format have
 * no value, and the payload ends before them. False: the text is not of this format, or telling
 * would take too long. */
bool log_pattern_match(struct log_matcher *matcher, const struct log_pattern *pattern,
                       const char *text, size_t len, bool lines, uint8_t *payload,
                       uint32_t *ret_size, size_t *ret_taken);
