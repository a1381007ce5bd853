/* SPDX-License-Identifier: MIT */
#pragma once

/* Lists of numbers and ranges as people and kernels write them: "0,2-5". */

#include "base/macro.h"

struct range {
    uint32_t low, high; /* both included */
};

/* Reads "A" or "A-B" at *P, and moves *P after it. With OPEN, "A-" and "-B" as well, whose missing end is that of OPEN.
 * Numbers above UINT32_MAX become that. -EINVAL: there is neither. Whether low is above high, the caller checks. */
int range_parse(const char **p, const struct range *open, struct range *ret_range);
