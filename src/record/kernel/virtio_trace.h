/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's side of the virtio-trace protocol of Linux's trace-agent. `1` to the port agent-ctl-path starts tracing
 * and `0` stops it. The ports trace-path-cpuN carry only pages, which are copied without parsing. The protocol has no
 * mark for the end; the end is reached when nothing more comes.
 *
 * The host's ends of the ports are FIFOs or sockets in one directory. Their names are the names of the ports. */

#include "record/kernel/kernel_sink.h"
#include "record/recorder.h"

struct virtio_trace_port {
    /* to read from, to write to (the same descriptor for a socket); -1: closed */
    int in, out;
    uint32_t cpu;
    uint64_t bytes; /* received from it */
};

struct virtio_trace_guest {
    struct virtio_trace_port control;
    struct virtio_trace_port *ports;
    unsigned n;
    uint64_t bytes, max_size;
    uint64_t received_at; /* when data was last received, ns */
    uint64_t stopped_at;
    bool stopped, full;
    uint8_t *buf;
};

/* Opens the host's ends in the directory DIR, and starts the agent's tracing. CPUS: creates missing FIFOs for this
 * number of CPUs; 0: uses the ends that exist. -errno with ERROR. */
int virtio_trace_guest_open(const char *dir, unsigned cpus, uint64_t max_size,
                            struct virtio_trace_guest *ret, struct error *error);
void virtio_trace_guest_done(struct virtio_trace_guest *guest);

/* Adds the descriptors to be polled to WAIT. */
void virtio_trace_guest_poll(const struct virtio_trace_guest *guest, struct recorder_wait *wait);
/* Reads available data, and passes it to SINK. FDS: what virtio_trace_guest_poll() added. -errno with ERROR. */
int virtio_trace_guest_read(struct virtio_trace_guest *guest, const struct pollfd *fds,
                            struct kernel_sink *sink, uint64_t now, struct error *error);
void virtio_trace_guest_stop(struct virtio_trace_guest *guest, uint64_t now);
/* When the end is reached if no data comes before, in ns; UINT64_MAX: unknown. */
uint64_t virtio_trace_guest_ends_at(const struct virtio_trace_guest *guest);
bool virtio_trace_guest_has_ended(const struct virtio_trace_guest *guest, uint64_t now);

/* Passes the files that decoding needs to SINK, from the tracefs tree TREE (a copy, or a mounted one). -errno with
 * ERROR. */
int virtio_trace_guest_copy_tree(const char *tree, struct kernel_sink *sink, struct error *error);
