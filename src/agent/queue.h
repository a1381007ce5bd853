/* SPDX-License-Identifier: MIT */
#pragma once

/* A bounded queue of pages from a CPU's reader to the thread that sends them: a ring of a fixed number
 * of pages, so the agent's memory is bounded whatever the host does.
 *
 * One thread puts pages (the producer), one takes them (the consumer); neither waits for the other
 * here. HEAD counts pages that were put, TAIL pages that were taken; both only grow. Page i is in slot
 * (i - base) % n_slots. There is one slot more than the queue holds pages: the slot before the held
 * pages belongs to the consumer too, so that it can build a frame header right before the pages and
 * send both with one write.
 *
 *   Q1  0 <= head - tail <= n_pages = n_slots - 1.
 *   Q2  The slots of pages i with tail - 1 <= i < head belong to the consumer, the others to the producer.
 *   Q3  Only the producer writes head, by a release store after the last store to the page; the consumer
 *       loads it by acquire, so it sees the page's bytes.
 *   Q4  Only the consumer writes tail, by a release store after its last load from the page; the producer
 *       loads it by acquire, so it overwrites nothing that is still being read.
 *   Q5  Only the producer changes `base`, and only while the queue is empty (head == tail), before Q3: the
 *       consumer reads it only when it sees a page, and then it does not change. So a queue that is emptied
 *       again and again reuses the same few slots, which are in the caches and already allocated. */

#include <stdatomic.h>

#include "base/macro.h"

/* Bytes before the pages that queue_look() returns that the consumer may overwrite. */
#define QUEUE_ROOM 64u

struct queue {
    /* one page that has QUEUE_ROOM for the first slot, then the slots; allocated by the kernel on
     * first use */
    uint8_t *memory;
    size_t page_size;
    uint64_t n_pages; /* capacity */
    uint64_t base;
    _Atomic uint64_t head;
    _Atomic uint64_t tail;
};

/* Allocates a queue of about BYTES, at least two pages. -ENOMEM. */
int queue_init(struct queue *queue, size_t page_size, size_t bytes);
void queue_done(struct queue *queue);

/* Producer: where to write the next page (NULL: the queue is full); then queue_put() adds it. No other
 * put may come in between. */
uint8_t *queue_free_page(struct queue *queue);
void queue_put(struct queue *queue);

/* Producer, while the queue is empty: where to write the next N pages contiguously; NULL if N is more
 * than the capacity. */
uint8_t *queue_free_pages(struct queue *queue, size_t n);
/* Consumer, while the queue is empty and the producer waits: counts N pages that were sent without
 * being queued. */
void queue_skip(struct queue *queue, size_t n);

/* Consumer: returns how many pages are at *RET_PAGES, contiguously (more may follow after the wrap).
 * The QUEUE_ROOM bytes before them may be overwritten. queue_take() then removes the first N of them. */
size_t queue_look(struct queue *queue, uint8_t **ret_pages);
void queue_take(struct queue *queue, size_t n);

/* The number of held pages. Any thread. */
static inline uint64_t queue_held(struct queue *queue)
{
    /* Tail first: head can only have grown since, so the difference is never negative. */
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);

    return atomic_load_explicit(&queue->head, memory_order_acquire) - tail;
}
