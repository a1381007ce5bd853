/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder that prints what other recorders record, while they record it: events of guests' kernels, and of this
 * machine's. It writes nothing into the trace.
 *
 * What guests send is decoded here, so that happens in a process that is confined as the guests' own processes are
 * (record/agent/confine.h): it has its output, standard error, and an end of record/agent/live_stream.h's for each
 * kernel. It reads these only as fast as its output is read. What does not fit into a stream is left out and counted, so
 * that no recorder waits.
 *
 * An event is printed a quarter of a second after its page came, so that those of other CPUs come before it where they
 * belong there. Of several kernels, the times are those of the host where the clocks relate, and events are printed in
 * that order; a kernel whose clock does not relate shows its own times, in the order in which its pages came.
 *
 * It is added before the recorders that it prints, and ends when their streams have ended and all is printed. */

#include "base/text.h"
#include "event/sink.h"
#include "record/recorder.h"

struct live_kernel {
    const char *name;
    bool is_host; /* this machine's: its times are the host's */
};

/* What a sink may want to know of what it is going to print. */
struct live_view_info {
    unsigned n;      /* kernels */
    unsigned layers; /* a bit for each, 1 << enum layer */
    /* The number of the kernel of an origin. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *arg;
};

/* All borrowed, for as long as the recorder is there. */
struct live_viewer_settings {
    const struct live_kernel *kernels;
    unsigned n;
    int output; /* the descriptor that the sink writes to */
    bool alone; /* nothing is kept: when it ends, the recording does */
    /* In its process, before that is confined: opens OUT, and a sink that writes there. -errno. */
    int (*open)(void *userdata, const struct live_view_info *info, struct text *out,
                struct sink **ret);
    void *userdata;
};

/* Why it ended. */
enum live_viewer_end {
    LIVE_GOES_ON,
    LIVE_IS_DONE,   /* all has been printed, or it was killed as the user has enough of it */
    LIVE_IS_UNREAD, /* its output was closed: the recording is stopped */
    LIVE_FAILED,    /* the user was told why */
};

/* -ENOMEM. */
int live_viewer_new(const struct live_viewer_settings *settings, struct recorder **ret);
/* Where the sending end of the stream of kernel I is: -1 before it has started, and once it was taken over. */
int *live_viewer_stream(struct recorder *recorder, unsigned i);
enum live_viewer_end live_viewer_end(const struct recorder *recorder);
