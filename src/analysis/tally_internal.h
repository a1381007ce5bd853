/* SPDX-License-Identifier: MIT */
#pragma once

/* What counting (tally.c) and adding up tallies (tally_merge.c) share. */

#include "analysis/tally.h"

/* Makes rows up to number N - 1. -ENOMEM. */
int tally_make_rows(struct tally *tally, unsigned n);

/* True if events of A and B, of any source, are in the same row of TALLY_BY_EVENT. */
bool tally_is_same_event(const struct origin *origin_a, const struct event_class *a,
                         const struct origin *origin_b, const struct event_class *b);

/* If rows are neither by class nor by keys: the key of ITEM's row, and the row's number. -ENOMEM. */
uint64_t tally_key_of(const struct tally *tally, const struct item *item);
int tally_find_row(struct tally *tally, uint64_t key, unsigned *ret_row);

/* TALLY_BY_KEYS: makes one key of all numbers. */
uint64_t tally_key_of_numbers(const struct grouping *grouping, const uint64_t *numbers);

/* Returns period NUMBER of ROW; makes it if necessary. NULL if out of memory. */
struct tally_period *tally_find_period(struct tally *tally, struct tally_row *row, uint32_t number);
/* Returns the number of the period of TIME. */
uint32_t tally_period_number(struct tally *tally, int64_t time);
/* Returns the distances of PERIOD. NULL if out of memory. */
struct histogram *tally_period_distances(struct tally *tally, struct tally_period *period);

/* Keeps GAP, which has ended, if it is one of the longest. */
void tally_keep_gap(struct tally *tally, const struct tally_gap *gap);
/* ITEM, which has a time, ends the gap since the latest event, and begins the next gap. */
void tally_count_gap(struct tally *tally, const struct item *item);
