/* SPDX-License-Identifier: MIT */
#pragma once

/* Which addresses of functions in the keys of two results are of the same function. A kernel that is loaded at a random address
 * (KASLR) has its functions elsewhere after each boot: all by the same multiple of 2 MiB.
 *
 * Functions whose addresses are equal modulo 2 MiB are the same one, unless that is chance: code is aligned to 16 bytes, so of two
 * other functions one in 2^17 is. Therefore two must be moved by the same distance, unless there are few to choose from.
 * Several kernels, as those of host and guest, may have moved differently. Only addresses of the image of a kernel for x86-64
 * are compared: elsewhere, and in modules, functions are less aligned, and data is among them. */

#include "analysis/result/result.h"

struct diff_addresses {
    struct address_pair {
        uint64_t a, b;
        char text[24]; /* A as in the keys */
    } * pairs;
    unsigned n; /* functions that moved */
};

/* Freed by diff_addresses_done(), also after a failure. 0, -ENOMEM. */
int diff_addresses_init(struct diff_addresses *addresses, const struct result *a,
                        const struct result *b);
void diff_addresses_done(struct diff_addresses *addresses);

/* What KEY of the second result is called in the first: itself, if it is not an address that moved. */
const char *diff_addresses_translate(const struct diff_addresses *addresses, const char *key);

/* True if KEY is an address, of code or data. */
bool diff_is_address(const char *key);
