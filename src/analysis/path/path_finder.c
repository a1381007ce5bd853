/* SPDX-License-Identifier: MIT */
#include "analysis/path/path_finder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

/* Finds the paths of the pending intervals that begin at UNTIL or before. */
static int flush(struct path_finder *finder, int64_t until)
{
    unsigned left = 0;
    int r = 0;

    history_sort(&finder->history);
    for (unsigned i = 0; i < finder->n; i++) {
        const struct path_pending *pending = &finder->pending[i];
        const struct io_request *request =
            pending->request > 0
                ? history_get_request(&finder->history, pending->request, pending->until)
                : NULL;

        if (pending->begin > until || r < 0)
            finder->pending[left++] = *pending;
        else
            r = finder->find(finder->arg, pending, request);
    }
    finder->n = left;
    return r;
}

int path_finder_make_room(struct path_finder *finder, struct io_tracker *tracker, int64_t now)
{
    struct history *history = &finder->history;
    int r = 0;

    if (likely(!history_is_crowded(history)))
        return 0;
    if (tracker) {
        r = io_tracker_give(tracker, now);
        history->held_from = io_tracker_first(tracker, INT64_MIN);
    }
    while (r >= 0 && history_is_crowded(history)) {
        int64_t until;

        history_sort(history);
        until = history_next_drop(history);
        if (until > INT64_MIN)
            r = flush(finder, until);
        if (r >= 0)
            history_drop_oldest(history, until);
    }
    return r;
}

int path_finder_add(struct path_finder *finder, const struct path_pending *pending)
{
    struct path_pending *more;
    int r;

    if (finder->n == PATH_PENDING_MAX) {
        r = flush(finder, finder->pending[PATH_PENDING_MAX / 2].begin);
        if (r >= 0 && finder->n == PATH_PENDING_MAX)
            r = flush(finder, INT64_MAX);
        if (r < 0)
            return r;
    }
    if (finder->n == finder->room) {
        unsigned room = MAX(finder->room * 2, 64u);

        more = realloc(finder->pending, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        finder->pending = more;
        finder->room = room;
    }
    finder->pending[finder->n++] = *pending;
    return 0;
}

int path_finder_finish(struct path_finder *finder)
{
    int r = history_finish(&finder->history);

    return r < 0 ? r : flush(finder, INT64_MAX);
}

void path_finder_init(struct path_finder *finder,
                      int (*find)(void *arg, const struct path_pending *pending,
                                  const struct io_request *request),
                      void *arg)
{
    *finder = (struct path_finder){.find = find, .arg = arg};
    history_init(&finder->history);
    finder->walk.history = &finder->history;
}

void path_finder_done(struct path_finder *finder)
{
    history_done(&finder->history);
    path_walk_done(&finder->walk);
    free(finder->pending);
    *finder = (struct path_finder){0};
}
