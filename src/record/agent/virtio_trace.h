/* SPDX-License-Identifier: MIT */
#pragma once

/* The old protocol of Linux's trace-agent, from the host: `1` to the port agent-ctl-path starts it, `0` stops
 * it, and the ports trace-path-cpuN carry pages and nothing else. So there is nothing to take apart: bytes
 * are copied as they come. Nor does anything say that all has come: it is over when the ports are quiet.
 *
 * Host's ends of ports are FIFOs or sockets, by the ports' names, in one directory. */

#include <poll.h>

#include "record/agent/kernel_sink.h"

struct virtio_trace_port {
    int in, out; /* to read from, to write to; the same of a socket; -1: it is gone */
    uint32_t cpu;
    uint64_t bytes; /* that came from it */
};

struct virtio_trace_guest {
    struct virtio_trace_port control;
    struct virtio_trace_port *ports;
    unsigned n;
    uint64_t bytes, max_size;
    uint64_t heard; /* when something came last, ns */
    uint64_t stopped_at;
    bool stopped, full;
    uint8_t *buf;
};

/* CPUS 0: as many as there are ends in the directory DIR; else FIFOs are made for so many CPUs where there are no
 * ends. Starts the agent. -errno with ERROR. */
int virtio_trace_guest_open(const char *dir, unsigned cpus, uint64_t max_size,
                            struct virtio_trace_guest *ret, struct error *error);
void virtio_trace_guest_done(struct virtio_trace_guest *old);

/* What to wait for: old->n + 1 of them. */
void virtio_trace_guest_poll(const struct virtio_trace_guest *old, struct pollfd *fds);
/* Reads what is there, and gives it to SINK. -errno with ERROR. */
int virtio_trace_guest_take(struct virtio_trace_guest *old, const struct pollfd *fds,
                            struct kernel_sink *sink, uint64_t now, struct error *error);
void virtio_trace_guest_stop(struct virtio_trace_guest *old, uint64_t now);
/* When nothing more will come, if nothing comes until then, ns; UINT64_MAX: that is not known. */
uint64_t virtio_trace_guest_over_at(const struct virtio_trace_guest *old);
bool virtio_trace_guest_is_over(const struct virtio_trace_guest *old, uint64_t now);

/* Gives SINK the files that are needed to decode pages, from the tracefs tree TREE (a copy, or a mounted one). -errno with
 * ERROR. */
int virtio_trace_guest_copy_tree(const char *tree, struct kernel_sink *sink, struct error *error);
