/* SPDX-License-Identifier: MIT */
#include "event/marker.h"

#include <string.h>

/* A whole number, all of the LEN bytes at P. */
static bool read_number(const char *p, size_t len, int64_t *ret)
{
    bool negative = len > 0 && *p == '-';
    int64_t v = 0;

    if (len == negative)
        return false;
    for (size_t i = negative; i < len; i++) {
        if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, p[i] - '0', &v))
            return false;
    }
    /* The smallest number has no opposite. */
    if (!negative && __builtin_sub_overflow(0, v, &v))
        return false;
    *ret = v;
    return true;
}

bool marker_parse(const char *text, size_t len, struct marker *ret)
{
    struct marker marker = {0};
    const char *end, *bar;
    int64_t pid;

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\0'))
        len--;
    if (len < 4 || text[1] != '|' || !memchr("BCSF", text[0], 4))
        return false;
    marker.kind = text[0];
    end = text + len;
    bar = memchr(text + 2, '|', len - 2);
    if (!bar || !read_number(text + 2, (size_t)(bar - text - 2), &pid) || pid < INT32_MIN ||
        pid > INT32_MAX)
        return false;
    marker.pid = (int32_t)pid;
    marker.name = bar + 1;
    if (marker.kind != 'B') {
        const char *last = memrchr(marker.name, '|', (size_t)(end - marker.name));

        if (!last ||
            (marker.kind == 'C' && !read_number(last + 1, (size_t)(end - last - 1), &marker.value)))
            return false;
        end = last;
    }
    marker.len = (size_t)(end - marker.name);
    *ret = marker;
    return true;
}
