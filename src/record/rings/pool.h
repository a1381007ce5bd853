/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder's side of the ring pool (runtime/ring/pool_file.h): memory for the rings of processes that cannot create
 * files in the recorder's directory any more. The content of the pool is untrusted, and its processes may change it at
 * any moment. */

#include <stdint.h>

#include "base/macro.h"
#include "base/shared_map.h"
#include "runtime/ring/pool_file.h"

struct pool {
    int fd;
    struct shared_map map;
    struct pool_file *file; /* in `map`: the head and the entries of the slots */
};

/* Creates the pool in PARENT, the recorder's directory of rings. -errno. */
int pool_make(const char *parent, struct pool **ret);
/* Opens the pool in PARENT. -ENOENT: none; -EBADMSG: damaged, or another version. */
int pool_open(const char *parent, struct pool **ret);
void pool_close(struct pool *pool);
/* Removes the pool in PARENT, unless a slot is in use. */
void pool_remove(const char *parent);

/* Copies a slot's entry. False: it is free, being filled in, or damaged. */
bool pool_get(const struct pool *pool, unsigned slot, struct pool_slot *ret);
/* Finds the slot with NUMBER of the process PID that started at START; -1: none. */
int pool_find(const struct pool *pool, uint32_t pid, uint64_t start, uint32_t number);
/* Frees the slots of a dead process and their pages. */
void pool_free(struct pool *pool, uint32_t pid, uint64_t start);
