/* SPDX-License-Identifier: MIT */
#include "runtime/control/pattern.h"

#include <stddef.h>
#include <string.h>

bool pattern_match(const char *pattern, const char *name)
{
    /* On a mismatch the last star takes one more character. Stars before it need no second try: what
     * they could still give up, the last one can take. */
    const char *behind_star = NULL;
    const char *taken = NULL;

    for (;;) {
        if (*pattern == '*') {
            behind_star = ++pattern;
            taken = name;
        } else if (*name && (*pattern == *name || *pattern == '?')) {
            pattern++;
            name++;
        } else if (!*name && !*pattern) {
            return true;
        } else if (behind_star && *taken) {
            pattern = behind_star;
            name = ++taken;
        } else {
            return false;
        }
    }
}

bool pattern_is_glob(const char *text)
{
    return strpbrk(text, "*?") != NULL;
}
