/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define BLOCK_SIZE (16 * 1024)
#define ALIGNMENT 16

struct arena_block {
    struct arena_block *older;
    size_t size;
    _Alignas(ALIGNMENT) char data[];
};

static struct arena_block *block_new(struct arena *arena, size_t size)
{
    struct arena_block *block;

    if (size > SIZE_MAX - sizeof *block)
        return NULL;
    block = calloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    block->older = arena->blocks;
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *block;
    void *piece;

    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size == 0)
        size = ALIGNMENT;

    /* A large piece gets a block of its own and leaves the current block in use. */
    if (size > BLOCK_SIZE / 4) {
        block = block_new(arena, size);
        return block ? block->data : NULL;
    }

    if (size > arena->left) {
        block = block_new(arena, BLOCK_SIZE);
        if (!block)
            return NULL;
        arena->next = block->data;
        arena->left = BLOCK_SIZE;
    }
    piece = arena->next;
    arena->next += size;
    arena->left -= size;
    return piece;
}

char *arena_strndup(struct arena *arena, const char *s, size_t len)
{
    char *copy;

    if (len == SIZE_MAX)
        return NULL;
    copy = arena_alloc(arena, len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *arena_strdup(struct arena *arena, const char *s)
{
    return arena_strndup(arena, s, strlen(s));
}

void *arena_memdup(struct arena *arena, const void *p, size_t size)
{
    void *copy = arena_alloc(arena, size);

    if (copy && size != 0)
        memcpy(copy, p, size);
    return copy;
}

void arena_done(struct arena *arena)
{
    struct arena_block *block = arena->blocks;

    while (block) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
    *arena = (struct arena){0};
}
