/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder that prints events of guests' kernels and of this machine's kernel while other recorders record them. It
 * writes nothing into the trace.
 *
 * It decodes data from guests, so it runs in a process that is confined like the guests' own processes
 * (base/sandbox.h). The process has only its output, standard error, and the receiving end of a stream for each kernel
 * (record/kernel/live_stream.h). It reads the streams as fast as its output is read. A stream drops and counts packets
 * that it has no room for, so no recorder waits.
 *
 * An event is printed a quarter of a second after its page came, so that earlier events of other CPUs can come first.
 * Events of several kernels are printed in the order of the host's time if the clocks relate. A kernel whose clock does
 * not relate keeps its own times, and its events are printed in the order in which its pages came.
 *
 * The viewer is added before the recorders that it prints. It ends when their streams have ended and everything is
 * printed. */

#include "base/text.h"
#include "event/sink.h"
#include "record/recorder.h"

struct live_kernel {
    const char *name;
    bool is_host; /* this machine's kernel: its times are the host's */
};

/* Tells a sink what it will print. */
struct live_view_info {
    unsigned n;      /* kernels */
    unsigned layers; /* a bit for each, 1 << enum layer */
    /* Returns the number of the kernel of an origin. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *arg;
};

/* Borrowed until the recorder is freed. */
struct live_recorder_settings {
    const struct live_kernel *kernels;
    unsigned n;
    int output; /* descriptor that the sink writes to */
    bool alone; /* no trace directory exists: when the viewer ends, the recording ends */
    /* Opens OUT, and a sink that writes to it. Called in the viewer's process before it is confined. -errno. */
    int (*open)(void *userdata, const struct live_view_info *info, struct text *out,
                struct sink **ret);
    void *userdata;
};

/* Why the viewer has ended. */
enum live_recorder_end {
    LIVE_GOES_ON,
    LIVE_IS_DONE,   /* everything was printed, or the user asked for an immediate end */
    LIVE_IS_UNREAD, /* its output was closed, which stops the recording */
    LIVE_FAILED,    /* the reason was reported */
};

/* -ENOMEM. */
int live_recorder_new(const struct live_recorder_settings *settings, struct recorder **ret);
/* The sending end of the stream of kernel I; -1 before the start, and after a recorder has taken it over. */
int *live_recorder_stream(struct recorder *recorder, unsigned i);
enum live_recorder_end live_recorder_end(const struct recorder *recorder);
