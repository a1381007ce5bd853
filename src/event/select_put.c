/* SPDX-License-Identifier: MIT */
#include "event/select_put.h"

#include <string.h>

int select_put(struct selection *selection, const struct item *items, unsigned n, struct sink *sink,
               struct error *error)
{
    for (unsigned i = 0;;) {
        int run = selection_next_run(selection, items, n, &i, error);
        int r;

        if (run <= 0)
            return run;
        r = sink_put(sink, items + i, (unsigned)run);
        if (r < 0) {
            *error = sink->error;
            return error_set(error, r, NULL, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
        }
        i += (unsigned)run;
    }
}
