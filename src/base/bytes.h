/* SPDX-License-Identifier: MIT */
#pragma once

/* Loads from unaligned memory, in the machine's own byte order. SWAP: a machine of the other order wrote the bytes. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_u16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint16_t load_u16_swap(const void *p, bool swap)
{
    uint16_t v = load_u16(p);
    return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t load_u32_swap(const void *p, bool swap)
{
    uint32_t v = load_u32(p);
    return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t load_u64_swap(const void *p, bool swap)
{
    uint64_t v = load_u64(p);
    return swap ? __builtin_bswap64(v) : v;
}

/* An unsigned value of 1, 2, 4 or 8 bytes. */
static inline uint64_t load_uint(const void *p, unsigned size, bool swap)
{
    switch (size) {
    case 1: return *(const uint8_t *)p;
    case 2: return load_u16_swap(p, swap);
    case 4: return load_u32_swap(p, swap);
    default: return load_u64_swap(p, swap);
    }
}

/* Sign-extends the low SIZE bytes (1 to 8) of V to 64 bits. */
static inline int64_t sign_extend(uint64_t v, unsigned size)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(v << unused) >> unused;
}

static inline void store_u16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void store_u32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void store_u64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* The same for memory that is little-endian on every machine. */

static inline uint16_t load_le16(const void *p)
{
    return load_u16_swap(p, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
}

static inline uint32_t load_le32(const void *p)
{
    return load_u32_swap(p, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
}

static inline uint64_t load_le64(const void *p)
{
    return load_u64_swap(p, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
}

static inline void store_le16(void *p, uint16_t v)
{
    v = load_le16(&v);
    memcpy(p, &v, sizeof v);
}

static inline void store_le32(void *p, uint32_t v)
{
    store_u32(p, load_le32(&v));
}

static inline void store_le64(void *p, uint64_t v)
{
    store_u64(p, load_le64(&v));
}
