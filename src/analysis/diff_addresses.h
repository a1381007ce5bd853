/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds which addresses of functions in the keys of two results are the same function. A kernel that is loaded at a
 * random address (KASLR) has its functions elsewhere after each boot, all moved by the same multiple of 2 MiB.
 *
 * Functions whose addresses are equal modulo 2 MiB are the same function, or equal by chance. Code is aligned to 16
 * bytes, so one in 2^17 pairs of different functions is equal by chance. Therefore two functions must have moved by the
 * same distance, unless there are few addresses to choose from. Several kernels, such as host and guest, may have moved
 * differently. Only addresses in the image of an x86-64 kernel are compared. Elsewhere, and in modules, functions are
 * less aligned and mixed with data. */

#include "analysis/result/result.h"

struct diff_addresses {
    struct address_pair {
        uint64_t a, b;
        char text[24]; /* A as in the keys */
    } * pairs;
    unsigned n; /* functions that moved */
};

/* Call diff_addresses_done() also after a failure. 0, -ENOMEM. */
int diff_addresses_init(struct diff_addresses *addresses, const struct result *a,
                        const struct result *b);
void diff_addresses_done(struct diff_addresses *addresses);

/* Returns the first result's form of KEY of the second result: KEY itself unless it is an address that moved. */
const char *diff_addresses_translate(const struct diff_addresses *addresses, const char *key);

/* True if KEY is an address, of code or data. */
bool diff_is_address(const char *key);
