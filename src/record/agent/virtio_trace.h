/* SPDX-License-Identifier: MIT */
#pragma once

/* The old protocol of Linux's trace-agent, from the host: `1` to the port agent-ctl-path starts it, `0` stops
 * it, and the ports trace-path-cpuN carry pages and nothing else. So there is nothing to take apart: bytes
 * are copied as they come. Nor does anything say that all has come: it is over when the ports are quiet.
 *
 * Host's ends of ports are FIFOs or sockets, by the ports' names, in one directory. */

#include <poll.h>

#include "record/agent/guest_store.h"

struct virtio_trace_port {
    int in, out; /* to read from, to write to; the same of a socket; -1: it is gone */
    uint32_t cpu;
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
/* Takes what is there, and writes it into STORE. -errno with ERROR. */
int virtio_trace_guest_take(struct virtio_trace_guest *old, const struct pollfd *fds,
                            struct guest_store *store, uint64_t now, struct error *error);
void virtio_trace_guest_stop(struct virtio_trace_guest *old, uint64_t now);
/* When nothing more will come, if nothing comes until then, ns; UINT64_MAX: that is not known. */
uint64_t virtio_trace_guest_over_at(const struct virtio_trace_guest *old);
bool virtio_trace_guest_is_over(const struct virtio_trace_guest *old, uint64_t now);

/* Copies what decodes pages from the tracefs tree TREE (a copy of one, or a mounted one) into STORE. -errno with
 * ERROR. */
int virtio_trace_guest_copy_tree(const char *tree, struct guest_store *store, struct error *error);
