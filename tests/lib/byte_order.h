/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* For the `swap` of what a test has as bytes of a little-endian machine. */
#define SWAP_LITTLE (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)

/* Two numbers of 32 bits as they follow each other in memory. */
#define TWO_U32(first, second)                                  \
    (SWAP_LITTLE ? (uint64_t)(first) << 32 | (uint32_t)(second) \
                 : (uint64_t)(second) << 32 | (uint32_t)(first))
