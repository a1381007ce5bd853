/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <string.h>

#include "base/macro.h"

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* … and of the square roots of the first eight. */
static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static uint32_t rotate(uint32_t v, unsigned n)
{
    return v >> n | v << (32 - n);
}

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void mix_block(struct sha256 *sha)
{
    uint32_t w[64], s[8];

    for (unsigned i = 0; i < 16; i++)
        w[i] = load_be32(sha->block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, sha->state, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t one = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                       ((e & s[5]) ^ (~e & s[6])) + round_constants[i] + w[i];
        uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                       ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        sha->state[i] += s[i];
}

void sha256_init(struct sha256 *sha)
{
    *sha = (struct sha256){0};
    memcpy(sha->state, start, sizeof start);
}

void sha256_put(struct sha256 *sha, const void *p, size_t size)
{
    const uint8_t *from = p;

    while (size > 0) {
        size_t at = sha->total % sizeof sha->block;
        size_t n = MIN(size, sizeof sha->block - at);

        memcpy(sha->block + at, from, n);
        sha->total += n;
        from += n;
        size -= n;
        if (at + n == sizeof sha->block)
            mix_block(sha);
    }
}

void sha256_end(struct sha256 *sha, uint8_t ret_digest[SHA256_SIZE])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = sha->total * 8;
    uint8_t length[8];

    store_be32(length, (uint32_t)(bits >> 32));
    store_be32(length + 4, (uint32_t)bits);
    /* One bit set, then zeros, so that the length ends a block. */
    sha256_put(sha, padding, 1 + (119 - sha->total % 64) % 64);
    sha256_put(sha, length, sizeof length);
    for (unsigned i = 0; i < 8; i++)
        store_be32(ret_digest + 4 * i, sha->state[i]);
}

void hmac_sha256_init(struct hmac_sha256 *hmac, const void *key, size_t key_size)
{
    uint8_t block[64] = {0};
    uint8_t pad[64];

    if (key_size > sizeof block) {
        sha256_init(&hmac->inner);
        sha256_put(&hmac->inner, key, key_size);
        sha256_end(&hmac->inner, block);
    } else if (key_size > 0) {
        memcpy(block, key, key_size);
    }
    for (unsigned i = 0; i < sizeof block; i++)
        pad[i] = block[i] ^ 0x36;
    sha256_init(&hmac->inner);
    sha256_put(&hmac->inner, pad, sizeof pad);
    for (unsigned i = 0; i < sizeof block; i++)
        pad[i] = block[i] ^ 0x5c;
    sha256_init(&hmac->outer);
    sha256_put(&hmac->outer, pad, sizeof pad);
}

void hmac_sha256_put(struct hmac_sha256 *hmac, const void *p, size_t size)
{
    sha256_put(&hmac->inner, p, size);
}

void hmac_sha256_end(struct hmac_sha256 *hmac, uint8_t ret_digest[SHA256_SIZE])
{
    uint8_t digest[SHA256_SIZE];

    sha256_end(&hmac->inner, digest);
    sha256_put(&hmac->outer, digest, sizeof digest);
    sha256_end(&hmac->outer, ret_digest);
}

bool sha256_equal(const uint8_t a[SHA256_SIZE], const uint8_t b[SHA256_SIZE])
{
    unsigned differ = 0;

    for (unsigned i = 0; i < SHA256_SIZE; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}
