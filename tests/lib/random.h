/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers for tests, the same in every run, so that a failure can be repeated. */

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* From 0 to below 1. */
static inline double random_part(void)
{
    return (double)(random_u64() >> 11) / 9007199254740992.0;
}
