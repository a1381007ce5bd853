/* SPDX-License-Identifier: MIT */
#include "cli/size.h"

#include <string.h>

int size_parse(void *member, const char *value, struct error *error)
{
    static const char units[] = "kmgt";
    char *end;
    unsigned long long v;
    const char *unit;

    errno = 0;
    v = strtoull(value, &end, 10);
    if (errno || *value < '0' || *value > '9')
        goto wrong;
    if (*end) {
        unit = strchr(units, *end | 0x20);
        if (!unit || end[1] || __builtin_mul_overflow(v, 1ull << 10 * (unit - units + 1), &v))
            goto wrong;
    }
    *(uint64_t *)member = v;
    return 0;

wrong:
    return error_set(error, -EINVAL, "", "is not a size (examples: 4096, 512K, 64M, 2G)");
}
