/* SPDX-License-Identifier: MIT */
#include "cli/duration.h"

#include <stdio.h>

#include "base/macro.h"

int duration_parse(void *member, const char *value, struct error *error)
{
    uint64_t seconds = 0, ns = 0, unit = NANOSECONDS;
    const char *p = value;

    /* So that nanoseconds have room in 64 bits. */
    for (; *p >= '0' && *p <= '9' && seconds <= UINT32_MAX; p++)
        seconds = MIN(seconds * 10 + (uint64_t)(*p - '0'), (uint64_t)UINT32_MAX);
    if (p != value && *p == '.' && p[1])
        for (p++; *p >= '0' && *p <= '9'; p++)
            if (unit > 1)
                ns += (unit /= 10) * (uint64_t)(*p - '0');
    if (p == value || *p)
        return error_set(error, -EINVAL, NULL, "is not a number of seconds (examples: 10, 0.5)");
    *(uint64_t *)member = seconds * NANOSECONDS + ns;
    return 0;
}

int duration_parse_period(void *member, const char *value, struct error *error)
{
    uint64_t period = 0;
    int r = duration_parse(&period, value, error);

    if (r >= 0 && period == 0)
        return error_set(error, -EINVAL, NULL, "must be more than 0");
    *(uint64_t *)member = period;
    return r;
}
