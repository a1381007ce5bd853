/* SPDX-License-Identifier: MIT */
#pragma once

/* How many events were dropped because their thread could get no ring (memory, or RINGS_MAX). The drops of a
 * ring are counted in the ring. Any context. */

#include <stdint.h>

void ring_drops_add(uint32_t class_id);
/* Of all classes, and of one. */
uint64_t ring_drops_without_ring(void);
uint64_t ring_no_ring_drops_of(uint32_t class_id);
/* In a child of fork(): they are the parent's. */
void ring_drops_forget(void);
