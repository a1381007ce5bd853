/* SPDX-License-Identifier: MIT */
#pragma once

/* Pages on their way from the reader of a CPU to whoever sends them: a ring of a fixed number of
 * pages, which bounds the agent's memory whatever the host does.
 *
 * One thread puts, one thread takes; neither ever waits for the other here. HEAD counts the pages that
 * were put, TAIL those that were taken; both only grow.
 * Page i lies in slot (i - base) % n_slots. There is a slot more than pages are held: the one before the pages
 * that are held is the taker's as well, so that it makes the head of a message where the pages are,
 * and sends both as they lie.
 *
 *   Q1  0 <= head - tail <= n_pages = n_slots - 1.
 *   Q2  The slots of pages i with tail - 1 <= i < head belong to the taker, the others to the putter.
 *   Q3  Only the putter writes head, by a release store behind the last store to the page; the taker
 *       loads it by acquire, so it sees the page's bytes.
 *   Q4  Only the taker writes tail, by a release store behind its last load from the page; the putter
 *       loads it by acquire, so it writes over nothing that is still being read.
 *   Q5  Only the putter changes `base`, and only while it holds no page (head == tail), before Q3: the taker
 *       looks at it only when it sees a page, and then it stays. So a queue that is emptied again and again
 *       uses the same few slots, which are in the caches, and real. */

#include <stdatomic.h>

#include "base/macro.h"

/* What may be written over before the pages that queue_look() lends. */
#define QUEUE_ROOM 64u

struct queue {
    uint8_t *
        memory; /* a page that is QUEUE_ROOM for the first slot, and the slots; becomes real when it is first used */
    size_t page_size;
    uint64_t n_pages; /* that it holds */
    uint64_t base;
    _Atomic uint64_t head;
    _Atomic uint64_t tail;
};

/* Of about BYTES, two pages at the least. -ENOMEM. */
int queue_init(struct queue *queue, size_t page_size, size_t bytes);
void queue_done(struct queue *queue);

/* The putter: where the next page goes, NULL when the queue is full; then that it is there. Nobody else puts between. */
uint8_t *queue_free_page(struct queue *queue);
void queue_put(struct queue *queue);

/* The putter, of a queue that is empty: where the next N pages go, in one piece; NULL when it does not hold so many. */
uint8_t *queue_free_pages(struct queue *queue, size_t n);
/* The taker, of a queue that is empty and whose putter waits for it: N pages went by it. */
void queue_pass(struct queue *queue, size_t n);

/* The taker: how many pages lie at *RET_PAGES, one behind the other (there may be more behind the
 * ring's end), of which it may write over the QUEUE_ROOM bytes before them; then that the first N of them are done
 * with. */
size_t queue_look(struct queue *queue, uint8_t **ret_pages);
void queue_take(struct queue *queue, size_t n);

/* From any thread: pages that are held. */
static inline uint64_t queue_held(struct queue *queue)
{
    /* Tail first: head can only have grown since, so the difference is never negative. */
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);

    return atomic_load_explicit(&queue->head, memory_order_acquire) - tail;
}
