/* SPDX-License-Identifier: MIT */
#include "base/glob.h"

#include <stddef.h>
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

bool glob_is_pattern(const char *pattern)
{
    return strpbrk(pattern, "*?") != NULL;
}
