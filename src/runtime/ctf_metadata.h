/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a native trace: what CTF 1.8 (its language is called TSDL) says of the packets that
 * rings are made of, and of each class of events. */

#include <stddef.h>
#include <stdint.h>

#include "runtime/clock.h"

struct ctf_metadata {
    uint8_t uuid[16];
    struct clock_pair start;
    uint64_t clock_hz;
};

/* The text for classes 1 to CLASS_COUNT, allocated; its length in *ret_len. -ENOMEM. */
int ctf_metadata_text(const struct ctf_metadata *metadata, uint32_t n_classes, char **ret,
                      size_t *ret_len);
