/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts events that were dropped because their thread could get no ring (no memory, or RINGS_MAX reached). Other drops
 * are counted in the ring. Any context. */

#include <stdint.h>

void ring_drops_add(uint32_t class_id);
/* The number of such events of all classes, and of one class. */
uint64_t ring_drops_without_ring(void);
uint64_t ring_no_ring_drops_of(uint32_t class_id);
/* Call it in a child of fork(): the counts are the parent's. */
void ring_drops_forget(void);
