/* SPDX-License-Identifier: MIT */
#pragma once

/* The old protocol, of Linux's tools/virtio/virtio-trace: raw pages on a port per CPU
 * (trace-path-cpuN), started by `1` and stopped by `0` on the port agent-ctl-path. Nothing goes from
 * the agent to the host but pages.
 *
 * Two threads besides the readers (agent/readers.h): the controller reads commands and follows CPUs and
 * ports that come and go; the sender writes pages. Neither ever blocks but in poll(2). */

#include <pthread.h>

#include "agent/control.h"
#include "agent/notify.h"
#include "agent/raw_port.h"
#include "agent/readers.h"

#define VIRTIO_TRACE_CONTROL_PORT "agent-ctl-path"
#define VIRTIO_TRACE_DATA_PORT "trace-path-cpu"

struct virtio_trace_options {
    const char *ports; /* a directory, or NULL: virtio-serial */
    size_t queue_bytes;
    bool to_stdout;
};

struct virtio_trace {
    struct virtio_trace_options options;
    const struct agent_log *log;
    struct readers *readers;
    struct raw_port
        *outlets; /* beside readers->list: outlets[i] is that of list[i]; with to_stdout only [0] */
    struct cpu_set missing; /* CPUs whose lack of a port was told */
    struct wakeup sender_bell;
    struct wakeup controller_bell;
    struct control control;
    int control_fd;
    bool control_is_socket;
    bool unknown_was_told;
    bool is_free; /* there is no control port: it runs from the start */
    pthread_t controller, sender;
    bool has_controller, has_sender;
    _Atomic bool ending;  /* the controller is to end … */
    _Atomic bool closing; /* … and then, when all is sent or the deadline is there, the sender */
    _Atomic int64_t deadline; /* CLOCK_MONOTONIC, ms */
    _Atomic int dead;         /* why it cannot go on by itself; 0: it can */
    struct notify *notify;
};

/* Finds the ports and starts. -ENOENT: there are no such ports (now). DIR is the directory of the buffer,
 * which outlives it, as SAY and NOTIFY do. */
int virtio_trace_new(int dir, const struct virtio_trace_options *options,
                     const struct agent_log *log, struct notify *notify,
                     struct virtio_trace **ret_old, struct error *error);

/* Stops reading, and sends what was read until DEADLINE (CLOCK_MONOTONIC, ms); does not wait for that. A later call
 * only sets another deadline. OLD may be NULL. */
void old_end(struct virtio_trace *old, int64_t deadline);
/* The same, waits for it, and ends all threads. *RET_LEFT: pages that were read and could not be sent. */
void virtio_trace_free(struct virtio_trace *old, int64_t deadline, uint64_t *ret_left);
