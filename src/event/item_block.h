/* SPDX-License-Identifier: MIT */
#pragma once

/* Items that outlive the run in which they were lent (event/source.h, S2): copies of them and of their payloads, in
 * memory of a fixed size. Another thread may read a block while the source goes on.
 *
 * With a copier, their origins are copies too, with the clock as it was when the items were lent. item_task_name() of an item in a
 * block gives the name that its thread had then, and does not need the source. All other functions of an origin that
 * need the source are NULL in the copy, and so is `kernel`.
 *
 * A block is filled by the thread that reads the source. It may be read by another one after a lock has handed it
 * over. What is in it lives as long as the copier, the catalogue and the source. */

#include "base/arena.h"
#include "base/map.h"
#include "event/item.h"

struct item_block {
    struct item *items;
    unsigned n;
    uint8_t *payloads;
    size_t payload_bytes;
};

#define ITEM_BLOCK_ITEMS 2048u
#define ITEM_BLOCK_PAYLOAD_BYTES ((size_t)256 * 1024)

/* -ENOMEM. */
int item_block_init(struct item_block *block);
void item_block_done(struct item_block *block);

static inline void item_block_clear(struct item_block *block)
{
    block->n = 0;
    block->payload_bytes = 0;
}

/* The number of the input that ORIGIN is of (trace/trace.h). */
typedef unsigned origin_number(void *arg, const struct origin *origin);

#define ITEM_COPIER_CACHE 256

struct copied_origin;
struct copied_name;

/* What the blocks of one source have in common: origins and names, each copied once. */
struct item_copier {
    origin_number *number; /* NULL: origins have no numbers */
    void *number_arg;
    struct arena arena;
    struct copied_origin *origins;
    struct copied_name **names; /* by number, in pieces that stay where they are */
    uint32_t n_names;
    struct map by_address;
    const struct copied_name *cache[ITEM_COPIER_CACHE]; /* by address, too */
    const struct copied_origin *last;                   /* of the item before, in the same call */
};

/* NUMBER with ARG: what item_block_origin_number() returns of a copied origin; NULL: 0. -ENOMEM. */
int item_copier_init(struct item_copier *copier, origin_number *number, void *arg);
void item_copier_done(struct item_copier *copier);

/* Appends the first of N items to BLOCK, as many as fit, and returns how many. 0 with an empty block: the first cannot
 * be copied, as its payload is too large, there are too many names, or memory is out. COPIER NULL: their origins are
 * those that were lent, and a name is what the source says of it when it is asked. */
unsigned item_block_put(struct item_block *block, struct item_copier *copier,
                        const struct item *items, unsigned n);

/* The number of an origin of an item in a block. For struct view_options; ARG is not used. */
unsigned item_block_origin_number(void *arg, const struct origin *origin);
