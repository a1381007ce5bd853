/* SPDX-License-Identifier: MIT */
#include "base/range.h"

static bool parse_number(const char **p, uint32_t *ret)
{
    uint64_t v = 0;

    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; (*p)++)
        v = MIN(v * 10 + (unsigned)(**p - '0'), (uint64_t)UINT32_MAX);
    *ret = (uint32_t)v;
    return true;
}

int range_parse(const char **p, const struct range *open, struct range *ret_range)
{
    struct range range = open ? *open : (struct range){0, 0};
    bool has_low = parse_number(p, &range.low);

    if (!has_low && !(open && **p == '-'))
        return -EINVAL;
    if (**p != '-') {
        range.high = range.low;
    } else {
        (*p)++;
        if (!parse_number(p, &range.high) && !(open && has_low))
            return -EINVAL;
    }
    *ret_range = range;
    return 0;
}
