/* SPDX-License-Identifier: MIT */
#pragma once

/* Hashes of 64 bits for tables in memory. They differ between machines, and do not resist deliberate collisions. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* HASH with V added. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t v)
{
    hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint64_t hash_bytes(const char *s, size_t len)
{
    uint64_t hash = len;
    uint64_t word;

    for (; len >= sizeof word; s += sizeof word, len -= sizeof word) {
        memcpy(&word, s, sizeof word);
        hash = hash_mix(hash, word);
    }
    word = 0;
    memcpy(&word, s, len);
    return hash_mix(hash, word);
}
