/* SPDX-License-Identifier: MIT */
#include "agent/queue.h"

#include <sys/mman.h>

static size_t memory_size(const struct queue *queue)
{
    return (size_t)(queue->n_pages + 2) * queue->page_size;
}

static uint8_t *slot_at(const struct queue *queue, uint64_t i)
{
    uint64_t slot = (i - queue->base) % (queue->n_pages + 1);

    return queue->memory + (size_t)(slot + 1) * queue->page_size;
}

int queue_init(struct queue *queue, size_t page_size, size_t bytes)
{
    struct queue made = {.page_size = page_size, .n_pages = MAX(bytes / page_size, (size_t)2)};
    void *p = mmap(NULL, memory_size(&made), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return -ENOMEM;
    *queue = made;
    queue->memory = p;
    return 0;
}

void queue_done(struct queue *queue)
{
    if (queue->memory)
        munmap(queue->memory, memory_size(queue));
    queue->memory = NULL;
}

uint8_t *queue_free_page(struct queue *queue)
{
    /* written by this thread only */
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    uint64_t held = head - atomic_load_explicit(&queue->tail, memory_order_acquire); /* Q4 */

    if (held == queue->n_pages)
        return NULL;
    if (held == 0)
        queue->base = head; /* Q5 */
    return slot_at(queue, head);
}

uint8_t *queue_free_pages(struct queue *queue, size_t n)
{
    return n <= queue->n_pages ? queue_free_page(queue) : NULL;
}

void queue_skip(struct queue *queue, size_t n)
{
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);

    /* Before tail: see queue_held(). */
    atomic_store_explicit(&queue->head, head + n, memory_order_release);
    atomic_store_explicit(&queue->tail, head + n, memory_order_release);
}

void queue_put(struct queue *queue)
{
    /* written by this thread only */
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);

    atomic_store_explicit(&queue->head, head + 1, memory_order_release); /* Q3 */
}

size_t queue_look(struct queue *queue, uint8_t **ret_pages)
{
    /* written by this thread only */
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    uint64_t held = atomic_load_explicit(&queue->head, memory_order_acquire) - tail; /* Q3 */
    uint64_t slot;

    if (held == 0)
        return 0;
    slot = (tail - queue->base) % (queue->n_pages + 1); /* Q5 */
    *ret_pages = slot_at(queue, tail);
    return (size_t)MIN(held, queue->n_pages + 1 - slot);
}

void queue_take(struct queue *queue, size_t n)
{
    /* written by this thread only */
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);

    atomic_store_explicit(&queue->tail, tail + n, memory_order_release); /* Q4 */
}
