/* SPDX-License-Identifier: MIT */
#pragma once

/* CRC-32C (Castagnoli): the polynomial 0x1edc6f41, reflected, all bits set before and inverted behind.
 * Source: RFC 3720, appendix B.4, whose vectors test it. */

#include <stddef.h>
#include <stdint.h>

/* The checksum of SIZE bytes at P that follow on those whose checksum is BEFORE (0: none). May be
 * called by any number of threads at once. */
uint32_t crc32c(uint32_t before, const void *p, size_t size);
