/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts of events that become fields again. */

#include "base/arena.h"
#include "event/class.h"
#include "format/kernel_text/line.h"

/* The most that the fields take, before the text. */
#define KERNEL_TEXT_FIELDS_SIZE 512

struct kernel_pattern;

/* The first pattern by which the text of LINE can be read, and the values of its fields at P, which has room for
 * KERNEL_TEXT_FIELDS_SIZE bytes. NULL: there is none. */
const struct kernel_pattern *kernel_pattern_read(const struct kernel_line *line, uint8_t *p);

/* "sched". */
const char *kernel_pattern_group(const struct kernel_pattern *pattern);
/* The group of an event that patterns are for; NULL: there is none. */
const char *kernel_pattern_group_of(const char *name, size_t len);
/* The fields of PATTERN, and how many bytes they take: the text follows. NULL pattern: of an event without, which is its text
 * alone. NULL: out of memory. */
struct field *kernel_pattern_fields(const struct kernel_pattern *pattern, struct arena *arena,
                                    unsigned *ret_n, uint32_t *ret_size);
/* Its number, from 1 on; of NULL: 0. */
unsigned kernel_pattern_number(const struct kernel_pattern *pattern);
#define KERNEL_PATTERNS_MAX 128
