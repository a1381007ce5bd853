/* SPDX-License-Identifier: MIT */
#include "export/timeline/interned.h"

#include "base/macro.h"

int interned_get(struct interned *interned, const char *s, size_t len, unsigned max, bool *ret_new)
{
    void *number = map_get_str(&interned->numbers, s, len);
    char *copy;

    if (likely(number != NULL)) {
        *ret_new = false;
        return (int)(uintptr_t)number;
    }
    if (interned->n >= max || len > INTERNED_LEN_MAX)
        return 0;
    copy = arena_strndup(&interned->arena, s, len);
    if (!copy)
        return -ENOMEM;
    number = (void *)(uintptr_t)(interned->n + 1);
    if (map_put_str(&interned->numbers, copy, len, number) < 0)
        return -ENOMEM;
    *ret_new = true;
    return (int)++interned->n;
}

void interned_done(struct interned *interned)
{
    map_done(&interned->numbers);
    arena_done(&interned->arena);
    *interned = (struct interned){0};
}
