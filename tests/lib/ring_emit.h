/* SPDX-License-Identifier: MIT */
#pragma once

/* Emitting by hand, as the functions that `strata gen` makes do: each goes to the rare case where the common
 * one cannot do it. NULL: dropped, and counted. */

#include "strata/ring.h"

static inline uint8_t *ring_open(struct strata_slot *slot, uint32_t id, size_t size)
{
    uint8_t *at = strata_ring_begin(slot, id, size);

    return at ? at : strata_ring_begin_slow(slot, id, size);
}

static inline uint8_t *ring_string(struct strata_slot *slot, uint8_t *at, const char *string)
{
    uint8_t *next = strata_ring_put_string(slot, at, string);

    return next ? next : strata_ring_string_slow(slot, at, string);
}
