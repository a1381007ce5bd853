/* SPDX-License-Identifier: MIT */
#pragma once

/* The virtio-trace protocol of Linux's tools/virtio/virtio-trace: raw pages on one port per CPU
 * (trace-path-cpuN), started by `1` and stopped by `0` on the port agent-ctl-path. The agent sends
 * nothing but pages.
 *
 * Two threads besides the readers (agent/readers.h): the controller reads commands and handles CPUs and
 * ports that appear or disappear; the sender writes pages. Both block only in poll(2). */

#include <pthread.h>

#include "agent/control.h"
#include "agent/notify.h"
#include "agent/raw_port.h"
#include "agent/readers.h"

#define VIRTIO_TRACE_CONTROL_PORT "agent-ctl-path"
#define VIRTIO_TRACE_DATA_PORT "trace-path-cpu"

struct virtio_trace_options {
    const char *ports; /* a directory; NULL: virtio-serial */
    size_t queue_bytes;
    bool to_stdout;
};

struct virtio_trace {
    struct virtio_trace_options options;
    const struct agent_log *log;
    struct readers *readers;
    struct page_sink sink;
    struct raw_port *ports; /* ports[i] belongs to readers->list[i]; with to_stdout only ports[0] */
    struct cpu_set port_missing; /* CPUs whose missing port was reported */
    struct wakeup sender_wakeup;
    struct wakeup controller_wakeup;
    struct control control;
    int control_fd;
    bool control_is_socket;
    bool unknown_reported;
    bool always_on; /* without a control port: traces from the start */
    pthread_t controller, sender;
    bool has_controller, has_sender;
    _Atomic bool ending;      /* the controller must end */
    _Atomic bool closing;     /* the sender must end when everything is sent or at `deadline` */
    _Atomic int64_t deadline; /* CLOCK_MONOTONIC, ms */
    _Atomic int dead;         /* -errno if it cannot continue; 0: running */
    struct notify *notify;
};

/* Finds the ports and starts the threads. DIR is the directory of the trace buffer; DIR, LOG and NOTIFY must outlive
 * the result. -ENOENT: no such ports (now). */
int virtio_trace_new(int dir, const struct virtio_trace_options *options,
                     const struct agent_log *log, struct notify *notify,
                     struct virtio_trace **ret_virtio_trace, struct error *error);

/* Stops reading and lets the sender send what was read until DEADLINE (CLOCK_MONOTONIC, ms). Does not
 * wait. A later call only changes the deadline. VT may be NULL. */
void virtio_trace_stop(struct virtio_trace *vt, int64_t deadline);
/* virtio_trace_stop(), then waits for all threads and frees. *RET_LEFT: pages that were read but not
 * sent. */
void virtio_trace_free(struct virtio_trace *vt, int64_t deadline, uint64_t *ret_left);
