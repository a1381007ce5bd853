/* SPDX-License-Identifier: MIT */
#include "analysis/exit_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "event/class_map.h"

void exit_classes_done(struct exit_classes *classes)
{
    for (unsigned i = 0; i < classes->n; i++)
        free(classes->of[i]);
    free(classes->of);
    *classes = (struct exit_classes){0};
}

struct exit_class *exit_classes_add(struct exit_classes *classes, const struct event_class *class)
{
    struct exit_class *found;

    if (class_map_grow(classes->of, classes->n, class) < 0)
        return NULL;
    found = malloc(sizeof *found);
    if (!found)
        return NULL;
    exit_class_find(class, found);
    classes->of[class->index] = found;
    return found;
}

int exit_spans_put(struct spans *spans, struct exit_classes *classes, const struct item *items,
                   unsigned n, bool *ret_ends)
{
    unsigned first = 0; /* that spans have not been given */

    for (unsigned i = 0; i < n; i++) {
        const struct exit_class *class;
        int r;

        if (unlikely(items[i].kind != ITEM_EVENT))
            continue;
        class = exit_classes_get(classes, items[i].class);
        if (unlikely(!class))
            return -ENOMEM;
        if (likely(class->role != EXIT_STEP))
            continue;
        if (!exit_is_unused(class, &items[i])) {
            if (!class->begins && ret_ends)
                *ret_ends = true;
            continue;
        }
        r = spans_put(spans, items + first, i - first);
        if (r < 0)
            return r;
        first = i + 1;
    }
    return spans_put(spans, items + first, n - first);
}
