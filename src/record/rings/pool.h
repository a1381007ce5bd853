/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder's side of the ring pool (runtime/ring/pool_file.h): memory for the rings of processes that
 * can no longer create files in the recorder's directory. Everything in the pool is untrusted input,
 * which its processes may change at any moment. */

#include <stdint.h>

#include "base/macro.h"
#include "base/shared_map.h"
#include "runtime/ring/pool_file.h"

struct pool {
    int fd;
    struct shared_map map;
    struct pool_file *file; /* in it: the head and the entries of the slots */
};

/* Creates the pool of the recorder whose directory of rings is PARENT. -errno. */
int pool_make(const char *parent, struct pool **ret);
/* Opens the pool in PARENT. -ENOENT: none; -EBADMSG: damaged, or of another version. */
int pool_open(const char *parent, struct pool **ret);
void pool_close(struct pool *pool);
/* Removes the one in PARENT, unless a slot has something in it. */
void pool_remove(const char *parent);

/* Copies a slot's entry. False: it is free, being filled in, or damaged. */
bool pool_get(const struct pool *pool, unsigned slot, struct pool_slot *ret);
/* Finds the slot with NUMBER of the process PID that started at START; -1: none. */
int pool_find(const struct pool *pool, uint32_t pid, uint64_t start, uint32_t number);
/* Frees the slots of a process that is dead, and their pages. */
void pool_free(struct pool *pool, uint32_t pid, uint64_t start);
