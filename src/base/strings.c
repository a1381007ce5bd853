/* SPDX-License-Identifier: MIT */
#include "base/strings.h"

#include <string.h>

#include "base/macro.h"

void strings_done(struct strings *strings)
{
    free(strings->items);
    *strings = (struct strings){0};
}

int strings_add(struct strings *strings, const char *s)
{
    if ((strings->n & (strings->n - 1)) == 0) { /* a power of two: the array is full */
        size_t capacity = strings->n ? (size_t)strings->n * 2 : 1;
        const char **bigger = realloc(strings->items, capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        strings->items = bigger;
    }
    strings->items[strings->n++] = s;
    return 0;
}

int strings_split(struct strings *strings, char *value, struct error *error)
{
    char *comma;
    int r = 0;

    if (*value == ',' || strstr(value, ",,") || (*value && value[strlen(value) - 1] == ','))
        return error_set(error, -EINVAL, NULL, "has an empty element between its commas");
    for (; value && r >= 0; value = comma) {
        comma = strchr(value, ',');
        if (comma)
            *comma++ = '\0';
        r = strings_add(strings, value);
    }
    return r;
}
