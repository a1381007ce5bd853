/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder's side of the ring pool (runtime/pool_file.h): memory for the rings of processes that can make no files
 * in the recorder's directory any more. Everything in the pool is input, which its processes may change at any
 * moment. */

#include <stdint.h>

#include "base/macro.h"
#include "base/shared_map.h"
#include "runtime/pool_file.h"

struct pool {
    int fd;
    struct shared_map map;
    struct pool_file *file; /* in it: the head and the entries of the slots */
};

/* Makes the pool of the recorder whose directory of rings is PARENT. -errno. */
int pool_make(const char *parent, struct pool **ret);
/* Opens the one in PARENT. -ENOENT: there is none; -EBADMSG: it is damaged, or of another version. */
int pool_open(const char *parent, struct pool **ret);
void pool_close(struct pool *pool);
/* Removes the one in PARENT, unless a slot has something in it. */
void pool_remove(const char *parent);

/* A copy of a slot's entry. False: it is free, is being filled in, or is damaged. */
bool pool_get(const struct pool *pool, unsigned slot, struct pool_slot *ret);
/* The slot with NUMBER of the process PID that began at START; -1: there is none. */
int pool_find(const struct pool *pool, uint32_t pid, uint64_t start, uint32_t number);
/* Frees the slots of a process that is dead, and their pages. */
void pool_free(struct pool *pool, uint32_t pid, uint64_t start);
