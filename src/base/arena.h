/* SPDX-License-Identifier: MIT */
#pragma once

/* Many small pieces of memory that live as long as their owner, and are freed at once. */

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    char *next;
    size_t left;
};

/* SIZE zeroed bytes, aligned for any type; NULL when memory is out. */
void *arena_alloc(struct arena *arena, size_t size);
/* Copies LEN bytes and appends a NUL; NULL when memory is out. */
char *arena_strndup(struct arena *arena, const char *s, size_t len);
char *arena_strdup(struct arena *arena, const char *s);
/* A copy of SIZE bytes, aligned for any type. */
void *arena_memdup(struct arena *arena, const void *p, size_t size);
/* Frees all pieces; the arena is empty and usable again. */
void arena_done(struct arena *arena);
