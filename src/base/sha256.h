/* SPDX-License-Identifier: MIT */
#pragma once

/* SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104; vectors of RFC 4231). For messages of a few hundred
 * bytes: plain, not fast. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes so far */
    uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_put(struct sha256 *sha, const void *p, size_t size);
void sha256_end(struct sha256 *sha, uint8_t ret_digest[SHA256_SIZE]);

struct hmac_sha256 {
    struct sha256 inner, outer;
};

void hmac_sha256_init(struct hmac_sha256 *hmac, const void *key, size_t key_size);
void hmac_sha256_put(struct hmac_sha256 *hmac, const void *p, size_t size);
void hmac_sha256_end(struct hmac_sha256 *hmac, uint8_t ret_digest[SHA256_SIZE]);

/* Compares two digests in constant time. */
bool sha256_equal(const uint8_t a[SHA256_SIZE], const uint8_t b[SHA256_SIZE]);
