/* SPDX-License-Identifier: MIT */
#pragma once

/* Sorts items by time that come as several ascending sequences, like the buffers of the CPUs in a perf.data. Items with
 * equal times keep their order. Holds items and copies of their payloads.
 *
 * An item is appended to a queue whose last item is not later than it; of several such queues, to the one with the
 * latest last item. This gives the fewest ascending queues. The queues are merged. So a sequence costs one search for
 * its queue, and an item costs one comparison for each doubling of the number of queues. Not thread-safe. */

#include "event/item.h"

struct order;

/* A piece of a payload. */
struct order_piece {
    const void *p;
    size_t size;
};

/* -ENOMEM. */
int order_new(struct order **ret_order);
void order_free(struct order *order);

/* Adds an item of TIME, whose payload is a copy of the pieces, one after the other. The caller sets all other members.
 * Returns the held item, which is valid until it is taken; NULL: out of memory. */
struct item *order_add(struct order *order, int64_t time, const struct order_piece *pieces,
                       unsigned n_pieces);
/* Adds ITEM, with such a payload if there are pieces. Returns as order_add(). */
struct item *order_put(struct order *order, const struct item *item,
                       const struct order_piece *pieces, unsigned n_pieces);

/* Takes up to MAX items that are not later than LIMIT into ITEMS. Payloads stay valid until the next call. Returns the
 * number of items. */
unsigned order_take(struct order *order, int64_t limit, struct item *items, unsigned max);

/* Bytes of memory for held items. */
size_t order_held(const struct order *order);
/* The times of the earliest and the latest held item; TIME_UNKNOWN: none. */
int64_t order_oldest(const struct order *order);
int64_t order_youngest(const struct order *order);
