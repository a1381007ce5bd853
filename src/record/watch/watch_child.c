/* SPDX-License-Identifier: MIT */
#include "record/watch/watch_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/macro.h"
#include "watch/confine.h"
#include "watch/families_feed.h"
#include "watch/watcher.h"

int record_watch_run(void *userdata, uint64_t since, int out, int stop)
{
    const struct record_watch *watch = userdata;
    struct families_feed *feed = NULL;
    struct watch_settings settings = {
        .dir = watch->dir,
        .conditions = watch->conditions,
        .n_conditions = watch->n_conditions,
        .since = since,
        .out = out,
        .stop = stop,
    };
    struct error error = {0};
    int r = watch->metrics_period > 0 ? families_feed_new(out, &feed) : 0;

    (void)prctl(PR_SET_NAME, "strata-watch");
    if (feed) {
        settings.feed = feed;
        settings.period_ns = watch->n_conditions > 0 ? MIN(watch->metrics_period, WATCH_PERIOD_NS)
                                                     : watch->metrics_period;
    }
    /* Where it does not work, it is watched nevertheless. */
    if (watch_confine(watch->dir, &error) < 0)
        dprintf(out, "problem - %s\n", error.what);
    if (r >= 0)
        r = watch_run(&settings);
    if (r >= 0 && feed)
        families_feed_finish(feed);
    families_feed_free(feed);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
