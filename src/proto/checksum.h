/* SPDX-License-Identifier: MIT */
#pragma once

/* The checksum of frames. It detects bytes that were lost or mixed up in transit, but does not protect against an
 * attacker.
 *
 * CRC-32C is not used because in a guest under software emulation, it takes seven times as long with tables, and even
 * longer with its instruction, which is emulated bit by bit. This checksum needs four operations for eight bytes, which
 * every processor has.
 *
 *   The bytes are words of 8, little-endian, the last one filled up with zeros. Word i goes into lane i % 4 of
 *   four, which begin as 1, 2, 3 and 4:       lane = mix(lane, word)
 *   Then the length and the lanes make one:   sum = mix(mix(mix(mix(length, lane 0), lane 1), lane 2), lane 3)
 *   where mix(h, w) is                        h = (h ^ w) * 0x9e3779b97f4a7c15; h ^ h >> 32
 *   in 64 bits. The checksum is the low half of the sum.
 *
 * Each step is one to one, so bytes that differ in one word always have different sums. Other different bytes have the
 * same checksum once in 2^32. */

#include <stddef.h>
#include <stdint.h>

/* The checksum of SIZE bytes at P, which need not be aligned. */
uint32_t proto_check(const void *p, size_t size);
