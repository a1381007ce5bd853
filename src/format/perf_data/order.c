/* SPDX-License-Identifier: MIT */
/* Invariants between two calls: O1  the items of a queue ascend, in its chunks from head to tail. O2  `heap` has each
 * queue that has items, the one whose first item is oldest (of equal times: came first) on top. O3  what is in `spent`
 * may be pointed at by items that were taken last. */
#include "format/perf_data/order.h"

#include <string.h>

#include "base/macro.h"

#define CHUNK_ITEMS 128
#define CHUNK_BYTES 16384
/* Chunks that are kept for use. */
#define FREE_CHUNKS_MAX 256

struct chunk {
    struct chunk *next;
    uint32_t first, n; /* items that are left: [first, n) */
    uint32_t used, capacity;
    uint64_t numbers[CHUNK_ITEMS]; /* in the order in which all items came */
    struct item items[CHUNK_ITEMS];
    uint8_t bytes[];
};

struct queue {
    struct chunk *head, *tail;
    int64_t last;
};

/* The first item of a queue. */
struct head {
    int64_t time;
    uint64_t number;
    unsigned queue;
};

struct order {
    struct queue *queues;
    struct head *heap; /* as many as `queues` has room for */
    unsigned n_queues, capacity, n_heap;
    unsigned current; /* the queue that an item was put into last */
    uint64_t n_put;
    struct chunk *spent, *free;
    unsigned n_free;
    size_t held;
    int64_t youngest;
};

int order_new(struct order **ret_order)
{
    struct order *order = calloc(1, sizeof *order);

    if (!order)
        return -ENOMEM;
    *ret_order = order;
    return 0;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void order_free(struct order *order)
{
    if (!order)
        return;
    for (unsigned i = 0; i < order->n_queues; i++)
        free_chunks(order->queues[i].head);
    free_chunks(order->spent);
    free_chunks(order->free);
    free(order->queues);
    free(order->heap);
    free(order);
}

/* ---- The heap ---- */

static inline bool is_before(const struct head *a, const struct head *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

static struct head head_of(const struct order *order, unsigned queue)
{
    const struct chunk *chunk = order->queues[queue].head;

    return (struct head){
        .time = chunk->items[chunk->first].time,
        .number = chunk->numbers[chunk->first],
        .queue = queue,
    };
}

static void push(struct order *order, unsigned queue)
{
    struct head head = head_of(order, queue);
    unsigned at = order->n_heap++;

    for (; at > 0 && is_before(&head, &order->heap[(at - 1) / 2]); at = (at - 1) / 2)
        order->heap[at] = order->heap[(at - 1) / 2];
    order->heap[at] = head;
}

/* Puts HEAD in the place of the first one. */
static void replace_top(struct order *order, struct head head)
{
    unsigned at = 0;

    for (;;) {
        unsigned child = 2 * at + 1;

        if (child + 1 < order->n_heap && is_before(&order->heap[child + 1], &order->heap[child]))
            child++;
        if (child >= order->n_heap || !is_before(&order->heap[child], &head))
            break;
        order->heap[at] = order->heap[child];
        at = child;
    }
    order->heap[at] = head;
}

/* ---- Putting ---- */

static struct chunk *make_chunk(struct order *order, size_t bytes)
{
    struct chunk *chunk = order->free;

    if (chunk && bytes <= CHUNK_BYTES) {
        order->free = chunk->next;
        order->n_free--;
    } else {
        bytes = MAX(bytes, (size_t)CHUNK_BYTES);
        chunk = malloc(sizeof *chunk + bytes);
        if (!chunk)
            return NULL;
        chunk->capacity = (uint32_t)bytes;
    }
    chunk->next = NULL;
    chunk->first = chunk->n = chunk->used = 0;
    order->held += sizeof *chunk + chunk->capacity;
    return chunk;
}

static int add_queue(struct order *order, unsigned *ret)
{
    if (order->n_queues == order->capacity) {
        unsigned capacity = order->capacity ? order->capacity * 2 : 16;
        struct queue *queues = realloc(order->queues, capacity * sizeof *queues);
        struct head *heap;

        if (!queues)
            return -ENOMEM;
        order->queues = queues;
        heap = realloc(order->heap, capacity * sizeof *heap);
        if (!heap)
            return -ENOMEM;
        order->heap = heap;
        order->capacity = capacity;
    }
    order->queues[order->n_queues] = (struct queue){.last = TIME_UNKNOWN};
    *ret = order->n_queues++;
    return 0;
}

/* The queue for an item of TIME. An empty one will do. */
static int find_queue(struct order *order, int64_t time, unsigned *ret)
{
    const struct queue *queues = order->queues;
    unsigned best = UINT32_MAX;

    if (likely(order->current < order->n_queues && queues[order->current].last <= time)) {
        *ret = order->current;
        return 0;
    }
    for (unsigned i = 0; i < order->n_queues; i++)
        if (queues[i].last <= time && (best == UINT32_MAX || queues[i].last > queues[best].last))
            best = i;
    if (best == UINT32_MAX)
        return add_queue(order, ret);
    *ret = best;
    return 0;
}

struct item *order_add(struct order *order, int64_t time, const struct order_piece *pieces,
                       unsigned n_pieces)
{
    struct queue *queue;
    struct chunk *chunk;
    unsigned number;
    size_t size = 0;
    struct item *held;
    uint8_t *p;

    if (find_queue(order, time, &number) < 0)
        return NULL;
    for (unsigned i = 0; i < n_pieces; i++)
        size += pieces[i].size;
    queue = &order->queues[number];
    chunk = queue->tail;
    if (!chunk || chunk->n == CHUNK_ITEMS || size > chunk->capacity - chunk->used) {
        chunk = make_chunk(order, size);
        if (!chunk)
            return NULL;
        *(queue->tail ? &queue->tail->next : &queue->head) = chunk;
        queue->tail = chunk;
    }
    p = chunk->bytes + chunk->used;
    held = &chunk->items[chunk->n];
    held->time = time;
    held->payload = p;
    held->size = (uint32_t)size;
    for (unsigned i = 0; i < n_pieces; i++) {
        memcpy(p, pieces[i].p, pieces[i].size);
        p += pieces[i].size;
    }
    chunk->numbers[chunk->n++] = order->n_put++;
    chunk->used += (uint32_t)size;
    queue->last = time;
    order->current = number;
    order->youngest = order->n_heap ? MAX(order->youngest, time) : time;
    if (queue->head == chunk && chunk->n == chunk->first + 1)
        push(order, number);
    return held;
}

struct item *order_put(struct order *order, const struct item *item,
                       const struct order_piece *pieces, unsigned n_pieces)
{
    struct item *held = order_add(order, item->time, pieces, n_pieces);
    struct item copy = *item;

    if (!held)
        return NULL;
    if (n_pieces > 0) {
        copy.payload = held->payload;
        copy.size = held->size;
    }
    *held = copy;
    return held;
}

/* ---- Taking ---- */

/* Frees what items that were taken before may have pointed at. */
static void free_spent(struct order *order)
{
    while (order->spent) {
        struct chunk *chunk = order->spent;

        order->spent = chunk->next;
        order->held -= sizeof *chunk + chunk->capacity;
        if (chunk->capacity == CHUNK_BYTES && order->n_free < FREE_CHUNKS_MAX) {
            chunk->next = order->free;
            order->free = chunk;
            order->n_free++;
        } else {
            free(chunk);
        }
    }
}

static void spend_head(struct order *order, struct queue *queue)
{
    struct chunk *chunk = queue->head;

    queue->head = chunk->next;
    if (!queue->head) {
        queue->tail = NULL;
        queue->last = TIME_UNKNOWN;
    }
    chunk->next = order->spent;
    order->spent = chunk;
}

/* Brings the top of the heap up to date after items of its queue were taken. */
static void top_taken(struct order *order)
{
    unsigned queue = order->heap[0].queue;

    if (order->queues[queue].head) {
        replace_top(order, head_of(order, queue));
    } else if (--order->n_heap > 0) {
        replace_top(order, order->heap[order->n_heap]);
    }
}

/* The first head after the top one; NULL: none. */
static const struct head *second(const struct order *order)
{
    if (order->n_heap < 2)
        return NULL;
    return order->n_heap < 3 || is_before(&order->heap[1], &order->heap[2]) ? &order->heap[1]
                                                                            : &order->heap[2];
}

unsigned order_take(struct order *order, int64_t limit, struct item *items, unsigned max)
{
    unsigned n = 0;

    free_spent(order);
    while (n < max && order->n_heap > 0 && order->heap[0].time <= limit) {
        struct queue *queue = &order->queues[order->heap[0].queue];
        const struct head *next = second(order);
        struct chunk *chunk = queue->head;
        int64_t until = next ? MIN(next->time, limit) : limit;

        /* The top one itself, and those that are older than the other queues'. */
        items[n++] = chunk->items[chunk->first++];
        while (n < max && chunk->first < chunk->n &&
               (chunk->items[chunk->first].time < until ||
                (chunk->items[chunk->first].time == until &&
                 (!next || until < next->time || chunk->numbers[chunk->first] < next->number))))
            items[n++] = chunk->items[chunk->first++];
        if (chunk->first == chunk->n)
            spend_head(order, queue);
        top_taken(order);
    }
    return n;
}

size_t order_held(const struct order *order)
{
    return order->held;
}

int64_t order_oldest(const struct order *order)
{
    return order->n_heap ? order->heap[0].time : TIME_UNKNOWN;
}

int64_t order_youngest(const struct order *order)
{
    return order->n_heap ? order->youngest : TIME_UNKNOWN;
}
