/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of merge/ share. */

#include "merge/merge.h"

/* Sets the error; -ENOMEM. */
int merge_no_memory(struct merge *merge);
/* Adds a note. -ENOMEM. */
int merge_add_note(struct merge *merge, const char *format, ...) _printf_(2, 3);

/* The source called NAME, LEN bytes; -ENOENT. */
int merge_find_source(const struct merge *merge, const char *name, size_t len);
/* The layer called NAME, LEN bytes. */
bool merge_find_layer(const char *name, size_t len, enum layer *ret_layer);

/* Finds the clock domains, by what is known of the sources' hosts and counters, and the reference. */
int merge_find_domains(struct merge *merge);
/* TICKS of COUNTER as ticks of the counter that it is related to. */
int64_t merge_counter_time(const struct merge_counter *counter, int64_t ticks);
/* The reverse. */
int64_t merge_counter_ticks(const struct merge_counter *counter, int64_t time);
/* TICKS of SOURCE in the time of its domain. */
int64_t merge_domain_time(const struct merge_source *source, int64_t ticks, int64_t *ret_error_ns);

/* Writes the file PATH of pairs (timeline/clock_map.h) of SOURCE's clock and the timeline. */
int merge_write_pairs(struct merge *merge, const struct merge_source *source, const char *path);
