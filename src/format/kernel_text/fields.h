/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses the texts of known events back into fields. */

#include "base/arena.h"
#include "event/class.h"
#include "format/kernel_text/line.h"

/* Limit of the bytes of the fields, before the text. */
#define KERNEL_TEXT_FIELDS_SIZE 512

struct kernel_pattern;

/* Parses the text of LINE by the first pattern that matches, and writes the values of its fields to P, which must have
 * room for KERNEL_TEXT_FIELDS_SIZE bytes. NULL: no pattern matches. */
const struct kernel_pattern *kernel_pattern_read(const struct kernel_line *line, uint8_t *p);

/* The group of the pattern's event: "sched". */
const char *kernel_pattern_group(const struct kernel_pattern *pattern);
/* The group of an event that has patterns; otherwise NULL. */
const char *kernel_pattern_group_of(const char *name, size_t len);
/* The fields of PATTERN, and their size in bytes; the text follows them. PATTERN NULL: for an event without a pattern,
 * whose only field is its text. Returns NULL if out of memory. */
struct field *kernel_pattern_fields(const struct kernel_pattern *pattern, struct arena *arena,
                                    unsigned *ret_n, uint32_t *ret_size);
/* The number of PATTERN, from 1; 0 for NULL. */
unsigned kernel_pattern_number(const struct kernel_pattern *pattern);
#define KERNEL_PATTERNS_MAX 128
