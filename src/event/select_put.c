/* SPDX-License-Identifier: MIT */
#include "event/select_put.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

static bool is_within(const struct selection *selection, const struct item *item)
{
    unsigned layers = selection->options->layers;

    return item->kind == ITEM_EVENT && item->time != TIME_UNKNOWN &&
           item->time >= selection->from && item->time < selection->to &&
           (!layers || layers >> item->origin->layer & 1);
}

int select_pass(const struct selection *selection, const struct item *items, unsigned n,
                bool is_full, struct sink *sink)
{
    int r = 0;

    if (!sink->ops->pass || is_full || !selection->started)
        return 0;
    for (unsigned begin = 0, end; begin < n && r >= 0; begin = end + 1) {
        for (end = begin; end < n && is_within(selection, &items[end]); end++)
            ;
        if (end > begin)
            r = sink->ops->pass(sink, items + begin, end - begin);
    }
    return MIN(r, 0);
}

int select_put(struct selection *selection, const struct item *items, unsigned n, struct sink *sink,
               struct error *error)
{
    for (unsigned i = 0;;) {
        bool is_full = selection->left == 0;
        unsigned skipped = i;
        int run = selection_next_run(selection, items, n, &i, error);
        int r;

        if (run < 0)
            return run;
        r = select_pass(selection, items + skipped, (run > 0 ? i : n) - skipped, is_full, sink);
        if (r < 0)
            return error_set(error, r, NULL, "out of memory");
        if (run == 0)
            return 0;
        r = sink_put(sink, items + i, (unsigned)run);
        if (r < 0) {
            *error = sink->error;
            return error_set(error, r, NULL, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
        }
        i += (unsigned)run;
    }
}
