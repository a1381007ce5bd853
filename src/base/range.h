/* SPDX-License-Identifier: MIT */
#pragma once

/* Lists of numbers and ranges: "0,2-5". */

#include "base/macro.h"

struct range {
    uint32_t low, high; /* both included */
};

/* Parses "A" or "A-B" at *P and advances *P. With OPEN, it also parses "A-" and "-B", and takes the missing end from
 * OPEN. Numbers above UINT32_MAX are clamped. -EINVAL: none of these. The caller checks that low is not
 * above high. */
int range_parse(const char **p, const struct range *open, struct range *ret_range);
