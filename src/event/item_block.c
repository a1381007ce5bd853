/* SPDX-License-Identifier: MIT */
#include "event/item_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* At most a million names. */
#define NAMES_PIECE 1024u
#define NAMES_PIECES 1024u

/* Readable bytes after the payloads, for code that reads several at once. */
#define PAYLOAD_SLACK 64

struct copied_name {
    const char *name;
    uint32_t number;
};

/* Of a thread that has a number in its format, but no name. */
static const struct copied_name no_name = {NULL, 1};

struct copied_origin {
    struct origin origin;
    struct copied_origin *next;
    const struct origin *live;
    struct origin seen; /* *live, when it was copied */
    const struct item_copier *copier;
    const char *loss_name; /* the name of its losses' thread; a copy of its own for each */
    unsigned number;
};

int item_block_init(struct item_block *block)
{
    *block = (struct item_block){.items = malloc(ITEM_BLOCK_ITEMS * sizeof *block->items)};
    block->payloads = malloc(ITEM_BLOCK_PAYLOAD_BYTES + PAYLOAD_SLACK);
    if (!block->items || !block->payloads) {
        item_block_done(block);
        return -ENOMEM;
    }
    return 0;
}

void item_block_done(struct item_block *block)
{
    free(block->items);
    free(block->payloads);
    *block = (struct item_block){0};
}

int item_copier_init(struct item_copier *copier, origin_number *number, void *arg)
{
    *copier = (struct item_copier){.number = number, .number_arg = arg, .n_names = no_name.number};
    copier->names = calloc(NAMES_PIECES, sizeof *copier->names);
    return copier->names ? 0 : -ENOMEM;
}

void item_copier_done(struct item_copier *copier)
{
    for (unsigned i = 0; copier->names && i < NAMES_PIECES; i++)
        free(copier->names[i]);
    free(copier->names);
    map_done(&copier->by_address);
    arena_done(&copier->arena);
    *copier = (struct item_copier){0};
}

static const struct copied_origin *to_copied(const struct origin *origin)
{
    return container_of(origin, struct copied_origin, origin);
}

unsigned item_block_origin_number(void *arg, const struct origin *origin)
{
    (void)arg;
    return to_copied(origin)->number;
}

static const char *copied_comm(const struct origin *origin, uint32_t comm)
{
    const struct item_copier *copier = to_copied(origin)->copier;

    if (comm <= no_name.number)
        return NULL;
    return copier->names[comm / NAMES_PIECE][comm % NAMES_PIECE].name;
}

static const char *copied_task_name(const struct origin *origin, int32_t pid)
{
    (void)pid;
    return to_copied(origin)->loss_name;
}

/* Whether COPY is of LIVE as it is now: readers learn of their clock and their vCPUs while they read. */
static bool is_copy(const struct copied_origin *copy, const struct origin *live,
                    const char *loss_name)
{
    const struct origin *seen = &copy->seen;

    return copy->live == live && copy->loss_name == loss_name && seen->layer == live->layer &&
           seen->clock.hz == live->clock.hz && seen->clock.name == live->clock.name &&
           seen->task_name == live->task_name && seen->comm == live->comm &&
           seen->put_vcpu == live->put_vcpu;
}

/* NULL: memory is out. */
static _cold_ struct copied_origin *copy_origin(struct item_copier *copier,
                                                const struct origin *live, const char *loss_name)
{
    struct copied_origin *copy = copier->origins;

    while (copy && !is_copy(copy, live, loss_name))
        copy = copy->next;
    if (copy)
        return copy;
    copy = arena_alloc(&copier->arena, sizeof *copy);
    if (!copy)
        return NULL;
    copy->seen = *live;
    copy->origin = *live;
    copy->origin.comm = !loss_name && (live->comm || live->task_name) ? copied_comm : NULL;
    copy->origin.task_name = live->task_name ? copied_task_name : NULL;
    copy->origin.vm_name = NULL;
    copy->origin.vm_of = NULL;
    copy->origin.vms_are_named = false;
    copy->origin.kernel = NULL;
    copy->live = live;
    copy->copier = copier;
    copy->loss_name = loss_name;
    copy->number = copier->number ? copier->number(copier->number_arg, live) : 0;
    copy->next = copier->origins;
    copier->origins = copy;
    return copy;
}

/* NULL: memory is out, or there are too many. */
static _cold_ const struct copied_name *add_name(struct item_copier *copier, const char *name)
{
    struct copied_name **piece, *copy;
    uint32_t number;

    if (!name)
        return &no_name;
    copy = map_get(&copier->by_address, (uintptr_t)name);
    if (copy)
        return copy;
    number = copier->n_names + 1;
    if (number == NAMES_PIECE * NAMES_PIECES)
        return NULL;
    piece = &copier->names[number / NAMES_PIECE];
    if (!*piece)
        *piece = calloc(NAMES_PIECE, sizeof **piece);
    if (!*piece)
        return NULL;
    copy = &(*piece)[number % NAMES_PIECE];
    *copy = (struct copied_name){name, number};
    if (map_put(&copier->by_address, (uintptr_t)name, copy) < 0)
        return NULL;
    copier->n_names = number;
    return copy;
}

/* 0: memory is out, or there are too many. */
static inline uint32_t number_name(struct item_copier *copier, const char *name)
{
    const struct copied_name **cached =
        &copier->cache[((uintptr_t)name >> 3 ^ (uintptr_t)name >> 11) % ITEM_COPIER_CACHE];

    if (unlikely(!*cached || (*cached)->name != name)) {
        const struct copied_name *copy = add_name(copier, name);

        if (!copy)
            return 0;
        *cached = copy;
    }
    return (*cached)->number;
}

/* Puts the copies of origin and name into COPY, a copy of ITEM. False: memory is out, or there are too many names. */
static inline bool copy_references(struct item_copier *copier, struct item *copy,
                                   const struct item *item)
{
    const struct origin *live = item->origin;
    const struct copied_origin *origin = copier->last;

    if (likely(item->kind == ITEM_EVENT) && (live->comm || live->task_name)) {
        const char *name = item_task_name(item);

        copy->comm = 0;
        if (name || (live->comm && item->comm))
            copy->comm = number_name(copier, name);
        if (unlikely(copy->comm == 0 && name))
            return false;
    }
    if (unlikely(item->kind != ITEM_EVENT))
        origin = copy_origin(copier, live, item_task_name(item));
    else if (unlikely(!origin || origin->live != live))
        copier->last = origin = copy_origin(copier, live, NULL);
    if (unlikely(!origin))
        return false;
    copy->origin = &origin->origin;
    return true;
}

/* As memcpy(); most payloads are of few words, for which a call costs more than the copy. */
static inline void copy_payload(uint8_t *to, const uint8_t *from, size_t size)
{
    uint64_t a, b, c, d;

    if (unlikely(size > 32 || size < 8)) {
        if (size)
            memcpy(to, from, size);
        return;
    }
    memcpy(&a, from, sizeof a);
    memcpy(&b, from + size - 8, sizeof b);
    if (size > 16) {
        memcpy(&c, from + 8, sizeof c);
        memcpy(&d, from + size - 16, sizeof d);
        memcpy(to + 8, &c, sizeof c);
        memcpy(to + size - 16, &d, sizeof d);
    }
    memcpy(to, &a, sizeof a);
    memcpy(to + size - 8, &b, sizeof b);
}

unsigned item_block_put(struct item_block *block, struct item_copier *copier,
                        const struct item *items, unsigned n)
{
    struct item *copy = block->items + block->n;
    uint8_t *p = block->payloads + block->payload_bytes;
    const uint8_t *end = block->payloads + ITEM_BLOCK_PAYLOAD_BYTES;
    unsigned i = 0;

    /* The source may have learned what it did not know of an origin. */
    if (copier)
        copier->last = NULL;
    n = MIN(n, ITEM_BLOCK_ITEMS - block->n);
    for (; i < n; i++, copy++) {
        *copy = items[i];
        if (unlikely(copier && !copy_references(copier, copy, &items[i])))
            break;
        if (likely(items[i].kind == ITEM_EVENT)) {
            uint32_t size = items[i].size;

            if (unlikely(size > (size_t)(end - p)))
                break;
            copy_payload(p, items[i].payload, size);
            copy->payload = p;
            p += size;
        }
    }
    block->n += i;
    block->payload_bytes = (size_t)(p - block->payloads);
    return i;
}
