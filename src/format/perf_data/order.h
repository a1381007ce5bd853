/* SPDX-License-Identifier: MIT */
#pragma once

/* Puts items in the order of time that come as several ascending stretches, as the buffers of the CPUs do in a
 * perf.data. Items of equal times stay as they came. Holds items and copies of their payloads.
 *
 * An item is appended to the queue with the youngest last item that is not younger than it, which makes the fewest
 * queues that are in order; the queues are merged. So a stretch costs a search for its queue, and an item a
 * comparison for each doubling of the number of queues. Not thread-safe. */

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

/* Adds an item of TIME, whose payload is a copy of the pieces, one after the other. The caller sets all other members. Returns it
 * where it is held until it is taken; NULL: out of memory. */
struct item *order_add(struct order *order, int64_t time, const struct order_piece *pieces,
                       unsigned n_pieces);
/* Adds ITEM, which gets such a payload if there are pieces. Returns as order_add(). */
struct item *order_put(struct order *order, const struct item *item,
                       const struct order_piece *pieces, unsigned n_pieces);

/* Takes up to MAX items that are not younger than LIMIT into ITEMS. Payloads stay valid until the next call. Returns
 * how many. */
unsigned order_take(struct order *order, int64_t limit, struct item *items, unsigned max);

/* Bytes of memory that items are held in. */
size_t order_held(const struct order *order);
/* The times of the oldest item and of the youngest that are held; TIME_UNKNOWN: none is. */
int64_t order_oldest(const struct order *order);
int64_t order_youngest(const struct order *order);
