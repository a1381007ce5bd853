/* SPDX-License-Identifier: MIT */
#pragma once

/* The key in maps for what a source has numbers for: its threads, CPUs or interrupts. */

#include "event/class.h"

static inline uint64_t origin_key(const struct origin *origin, int32_t number)
{
    return (uint64_t)origin->number << 32 | (uint32_t)number;
}
