/* SPDX-License-Identifier: MIT */
#include "base/glob.h"

#include <string.h>

bool glob_match(const char *pattern, const char *name)
{
    /* Only the last star matters: an earlier one can never match more than it did. */
    const char *star = NULL;
    const char *resume = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == *name || *pattern == '?') {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* The end of NAME if it is one of the names in PATTERN, "A|B"; NULL: it is not. */
static const char *match_any(const char *pattern, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = pattern;; p++) {
        size_t n = strcspn(p, "|");

        if (n == len && memcmp(p, name, n) == 0)
            return name + len;
        p += n;
        if (*p == '\0')
            return NULL;
    }
}

const char *glob_match_star(const char *pattern, const char *name, size_t *ret_len)
{
    const char *star = strchr(pattern, '*');
    size_t len = strlen(name);
    size_t before;
    size_t after;

    *ret_len = 0;
    if (!star)
        return match_any(pattern, name);
    before = (size_t)(star - pattern);
    after = strlen(star + 1);
    if (len < before + after || memcmp(name, pattern, before) != 0 ||
        memcmp(name + len - after, star + 1, after) != 0)
        return NULL;
    *ret_len = len - before - after;
    return name + before;
}

const char *glob_own_end(const char *pattern, const char *name)
{
    size_t same = strlen(name);

    for (const char *p = pattern; p; p = strchr(p, '|')) {
        size_t n = 0;

        p += *p == '|';
        while (n < same && p[n] == name[n])
            n++;
        same = n;
    }
    return name + same;
}

const char *glob_fill_star(struct arena *arena, const char *pattern, const char *star, size_t len)
{
    size_t size = strlen(pattern) + 1;
    char *filled;
    char *p;

    if (!strchr(pattern, '*'))
        return pattern;
    for (const char *at = pattern; *at; at++)
        size += *at == '*' ? len : 0;
    filled = p = arena_alloc(arena, size);
    if (!filled)
        return NULL;
    for (const char *at = pattern; *at; at++) {
        if (*at == '*') {
            memcpy(p, star, len);
            p += len;
        } else {
            *p++ = *at;
        }
    }
    *p = '\0';
    return filled;
}

bool glob_is_pattern(const char *pattern)
{
    return strpbrk(pattern, "*?") != NULL;
}
