/* SPDX-License-Identifier: MIT */
#include "runtime/ring/ring_drops.h"

#include <string.h>

#include "runtime/ring/ring.h"

static uint64_t drops[RING_CLASS_MAX + 1];
static uint64_t total;

void ring_drops_add(uint32_t class_id)
{
    __atomic_fetch_add(&drops[class_id & RING_CLASS_MAX], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total, 1, __ATOMIC_RELAXED);
}

uint64_t ring_drops_without_ring(void)
{
    return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

uint64_t ring_no_ring_drops_of(uint32_t class_id)
{
    return class_id <= RING_CLASS_MAX ? __atomic_load_n(&drops[class_id], __ATOMIC_RELAXED) : 0;
}

void ring_drops_forget(void)
{
    if (total > 0) { /* else the pages of the counts are left untouched */
        memset(drops, 0, sizeof(drops));
        total = 0;
    }
}
