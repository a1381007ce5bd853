/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder that prints what other recorders record, while they record it: events of guests' kernels, and of this
 * machine's. It writes nothing into the trace.
 *
 * It decodes what guests send, so it runs in a process that is confined as the guests' own processes are
 * (base/sandbox.h). That has its output, standard error, and the receiving end of a stream for each kernel
 * (record/kernel/live_stream.h). It reads the streams as fast as its output is read. A stream drops and counts what it has no
 * room for, so that no recorder waits.
 *
 * An event is printed a quarter of a second after its page came, so that those of other CPUs come before it where they
 * belong there. Of several kernels, the times are those of the host where the clocks relate, and events are printed in
 * that order. A kernel whose clock does not relate has its own times, in the order in which its pages came.
 *
 * It is added before the recorders that it prints, and ends when their streams have ended and all is printed. */

#include "base/text.h"
#include "event/sink.h"
#include "record/recorder.h"

struct live_kernel {
    const char *name;
    bool is_host; /* this machine's: its times are the host's */
};

/* For a sink: what it is going to print. */
struct live_view_info {
    unsigned n;      /* kernels */
    unsigned layers; /* a bit for each, 1 << enum layer */
    /* The number of the kernel of an origin. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *arg;
};

/* Borrowed until the recorder is freed. */
struct live_viewer_settings {
    const struct live_kernel *kernels;
    unsigned n;
    int output; /* the descriptor that the sink writes to */
    bool alone; /* there is no trace directory: when it ends, the recording does */
    /* Opens OUT, and a sink that writes there. Called in its process, before that is confined. -errno. */
    int (*open)(void *userdata, const struct live_view_info *info, struct text *out,
                struct sink **ret);
    void *userdata;
};

/* Why it ended. */
enum live_viewer_end {
    LIVE_GOES_ON,
    LIVE_IS_DONE,   /* all has been printed, or the user wanted the end at once */
    LIVE_IS_UNREAD, /* its output was closed: the recording is stopped */
    LIVE_FAILED,    /* the reason was reported */
};

/* -ENOMEM. */
int live_viewer_new(const struct live_viewer_settings *settings, struct recorder **ret);
/* The sending end of the stream of kernel I; -1 before the start, and after it was taken over. */
int *live_viewer_stream(struct recorder *recorder, unsigned i);
enum live_viewer_end live_viewer_end(const struct recorder *recorder);
