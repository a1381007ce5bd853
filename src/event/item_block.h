/* SPDX-License-Identifier: MIT */
#pragma once

/* A block holds copies of items and payloads in memory of a fixed size, so that they outlive the run in which they were
 * lent (event/source.h, S2). Another thread may read a block while the source continues.
 *
 * With a copier, origins are copied too, with the clock as it was when the items were lent. item_task_name() of an item
 * in a block gives the name that its thread had at that time, and does not need the source. In the copy, all other
 * functions of an origin that need the source are NULL, and so is `kernel`.
 *
 * The thread that reads the source fills a block. Another thread may read the block after a lock has handed it over. The
 * content lives as long as the copier, the catalogue and the source. */

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

/* The number of the input with ORIGIN (trace/trace.h). */
typedef unsigned origin_number(void *arg, const struct origin *origin);

#define ITEM_COPIER_CACHE 256

struct copied_origin;
struct copied_name;

/* Origins and names that the blocks of one source share, each copied once. */
struct item_copier {
    origin_number *number; /* NULL: origins have no numbers */
    void *number_arg;
    struct arena arena;
    struct copied_origin *origins;
    struct copied_name **names; /* by number, in pieces that stay where they are */
    uint32_t n_names;
    struct map by_address;
    const struct copied_name *cache[ITEM_COPIER_CACHE]; /* by address, too */
    const struct copied_origin *last;                   /* of the previous item in the same call */
};

/* item_block_origin_number() returns what NUMBER with ARG says of a copied origin; NUMBER NULL: 0. -ENOMEM. */
int item_copier_init(struct item_copier *copier, origin_number *number, void *arg);
void item_copier_done(struct item_copier *copier);

/* Appends as many of N items to BLOCK as fit, and returns their number. 0 with an empty block: the first item cannot be
 * copied, because its payload is too large, there are too many names, or memory is out. COPIER NULL: items keep the
 * origins that were lent, and the source answers for names when it is asked. */
unsigned item_block_put(struct item_block *block, struct item_copier *copier,
                        const struct item *items, unsigned n);

/* The number of a copied origin, for struct view_options. ARG is not used. */
unsigned item_block_origin_number(void *arg, const struct origin *origin);
