/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <stdint.h>
#include <string.h>

#include "base/macro.h"

#define FAR (SIZE_MAX / 2)
#define WORD_MAX 64
/* Fewer letters stand in too many names. */
#define CONTAINED_MIN 3u

size_t suggest_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_MAX];

    if (a_len >= WORD_MAX || b_len >= WORD_MAX)
        return FAR;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        const size_t *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);

            row[j] = MIN(changed, MIN(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

static const char *find(const char *word, size_t len, size_t compared,
                        const char *const *candidates)
{
    size_t best_distance = MIN(len / 3, (size_t)2) + 1;
    const char *best = NULL;

    for (; *candidates; candidates++) {
        size_t d = suggest_distance(word, len, *candidates, strnlen(*candidates, compared));

        if (d < best_distance) {
            best_distance = d;
            best = *candidates;
        }
    }
    return best;
}

const char *suggest_find(const char *word, size_t len, const char *const *candidates)
{
    return find(word, len, SIZE_MAX, candidates);
}

/* Whether the LEN letters at P, in NAME, are a word of it: "switch" of "sched:sched_switch". */
static bool is_word(const char *name, const char *p, size_t len)
{
    return (p == name || p[-1] == '_' || p[-1] == ':') && (p[len] == '\0' || p[len] == '_');
}

/* Of the candidates that contain WORD the shortest, of those in which it is a word if there are any. */
static const char *find_containing(const char *word, size_t len, const char *const *candidates)
{
    const char *best = NULL;
    bool best_is_word = false;

    for (; len >= CONTAINED_MIN && *candidates; candidates++) {
        const char *p = memmem(*candidates, strlen(*candidates), word, len);
        bool whole = p && is_word(*candidates, p, len);

        if (!p || (best_is_word && !whole))
            continue;
        if (!best || whole != best_is_word || strlen(*candidates) < strlen(best))
            best = *candidates;
        best_is_word = whole;
    }
    return best;
}

const char *suggest_pattern(const char *pattern, const char *const *candidates)
{
    size_t len = strcspn(pattern, "*?");
    const char *near = len ? find(pattern, len, pattern[len] ? len : SIZE_MAX, candidates) : NULL;

    return near ? near : find_containing(pattern, len, candidates);
}
