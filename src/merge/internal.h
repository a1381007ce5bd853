/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of merge/ share. */

#include "merge/merge.h"

/* Sets the error. Returns -ENOMEM. */
int merge_no_memory(struct merge *merge);
/* Adds a note. -ENOMEM. */
int merge_add_note(struct merge *merge, const char *format, ...) _printf_(2, 3);

/* Returns the index of the source called NAME, LEN bytes, or -ENOENT. */
int merge_find_source(const struct merge *merge, const char *name, size_t len);
/* False if there is no layer called NAME, LEN bytes. */
bool merge_find_layer(const char *name, size_t len, enum layer *ret_layer);

/* Finds the clock domains, by what is known of the sources' hosts and counters, and the reference. */
int merge_find_domains(struct merge *merge);
/* Converts TICKS of COUNTER to ticks of the counter to which it is related. */
int64_t merge_counter_time(const struct merge_counter *counter, int64_t ticks);
/* The inverse of merge_counter_time(). */
int64_t merge_counter_ticks(const struct merge_counter *counter, int64_t time);
/* Converts TICKS of SOURCE to the time of its domain. */
int64_t merge_domain_time(const struct merge_source *source, int64_t ticks, int64_t *ret_error_ns);

/* Writes the file PATH with pairs of SOURCE's clock and the timeline (timeline/clock_map.h). */
int merge_write_pairs(struct merge *merge, const struct merge_source *source, const char *path);
