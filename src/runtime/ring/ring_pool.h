/* SPDX-License-Identifier: MIT */
#pragma once

/* This process's side of its recorder's ring pool (runtime/ring/pool_file.h). */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/ring/pool_file.h"

/* Maps the pool in PARENT, if there is one; children inherit it. Not from signal handlers. */
void ring_pool_map(const char *parent);

/* ---- Any context ---- */

bool ring_pool_is_mapped(void);

/* Reserves a free slot of POOL_SLOT_SIZE bytes, zero and unallocated, for ring NUMBER, or POOL_PROCESS,
 * of this process. The recorder sees it after ring_pool_publish(). NULL: no pool, or no free slot. */
void *ring_pool_take(uint32_t number, unsigned *ret_slot);
void ring_pool_publish(unsigned slot, uint64_t length);
/* Call it after a sub-buffer was closed. Wakes the recorder if it sleeps. Keeps errno. */
void ring_pool_wake(void);
/* Frees a slot that was not published. */
void ring_pool_give_back(unsigned slot);

/* True if P points into the pool's slots. */
bool ring_pool_contains(const void *p);
/* Call it if the slot that contains P no longer belongs to this process. Maps other memory there. */
void ring_pool_spoil(const void *p);

/* Counts an event of this process as lost. Returns false if there is no pool. */
bool ring_pool_count_no_ring(void);
/* The number of events of this process that were counted. */
uint64_t ring_pool_no_ring(void);

/* In a child of fork(). */
void ring_pool_forget(void);
