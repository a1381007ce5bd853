/* SPDX-License-Identifier: MIT */
#pragma once

/* The process that shows what guests trace while it is collected: lines on standard output, as of strata report.
 *
 * What guests send is decoded here, so it is confined as the guests' own processes are (record/agent/confine.h): it has
 * standard output and error, and an end of record/agent/live_stream.h's for each guest. It reads these only as fast as its
 * output is taken; what the guests' processes cannot get rid of they leave out and count, so that nobody else waits.
 *
 * An event is shown a quarter of a second after its page came, so that those of other CPUs come before it where they
 * belong there. Where there are several guests, their times are those of the host where that relates, and they are
 * put in that order; one whose clock does not relate tells its own times, and is put in order by when its pages came. */

#include <sys/types.h>

#include "base/error.h"

enum collect_format {
    COLLECT_TEXT,
    COLLECT_JSON,
    COLLECT_CSV,
};

struct collect_live {
    pid_t pid; /* 0: none, or it has ended */
};

/* Why it ended. */
enum collect_live_end {
    LIVE_GOES_ON,
    LIVE_IS_DONE,   /* all has been shown */
    LIVE_IS_UNREAD, /* nobody reads its output any more */
    LIVE_FAILED,    /* it was told why */
};

struct collect_live_options {
    enum collect_format format;
    bool spreadsheet; /* CSV that no spreadsheet takes for formulas */
};

/* Forks it, for the N guests of these NAMES. RET_ENDS: N of them, to give to the guests. -errno with ERROR. */
int collect_live_start(const char *const *names, unsigned n,
                       const struct collect_live_options *options, struct collect_live *ret_live,
                       int *ret_ends, struct error *error);
/* How it is. It ends by itself when the guests' ends are closed. */
enum collect_live_end collect_live_look(struct collect_live *live);
void collect_live_kill(struct collect_live *live);
