/* SPDX-License-Identifier: MIT */
#include "agent/queue.h"

#include <sys/mman.h>

int queue_init(struct queue *queue, size_t page_size, size_t bytes)
{
    uint64_t n = MAX(bytes / page_size, (size_t)2);
    void *p = mmap(NULL, (size_t)n * page_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return -ENOMEM;
    queue->pages = p;
    queue->page_size = page_size;
    queue->n_pages = n;
    atomic_init(&queue->head, 0);
    atomic_init(&queue->tail, 0);
    return 0;
}

void queue_done(struct queue *queue)
{
    if (queue->pages)
        munmap(queue->pages, (size_t)queue->n_pages * queue->page_size);
    queue->pages = NULL;
}

uint8_t *queue_free_page(struct queue *queue)
{
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed); /* own */

    /* Q4 */
    if (head - atomic_load_explicit(&queue->tail, memory_order_acquire) == queue->n_pages)
        return NULL;
    return queue->pages + (size_t)(head % queue->n_pages) * queue->page_size;
}

void queue_put(struct queue *queue)
{
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed); /* own */

    atomic_store_explicit(&queue->head, head + 1, memory_order_release); /* Q3 */
}

size_t queue_look(struct queue *queue, const uint8_t **ret_pages)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);        /* own */
    uint64_t held = atomic_load_explicit(&queue->head, memory_order_acquire) - tail; /* Q3 */
    uint64_t slot = tail % queue->n_pages;

    *ret_pages = queue->pages + (size_t)slot * queue->page_size;
    return (size_t)MIN(held, queue->n_pages - slot);
}

void queue_take(struct queue *queue, size_t n)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed); /* own */

    atomic_store_explicit(&queue->tail, tail + n, memory_order_release); /* Q4 */
}
