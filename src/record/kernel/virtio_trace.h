/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's side of the virtio-trace protocol, of Linux's trace-agent: `1` to the port agent-ctl-path starts tracing, `0`
 * stops it, and the ports trace-path-cpuN carry pages and nothing else. So nothing is parsed: bytes are copied. Nothing marks
 * the end: it is reached when nothing more comes.
 *
 * The host's ends of the ports are FIFOs or sockets, by the ports' names, in one directory. */

#include "record/kernel/kernel_sink.h"
#include "record/recorder.h"

struct virtio_trace_port {
    int in, out; /* to read from, to write to; the same of a socket; -1: closed */
    uint32_t cpu;
    uint64_t bytes; /* that came from it */
};

struct virtio_trace_guest {
    struct virtio_trace_port control;
    struct virtio_trace_port *ports;
    unsigned n;
    uint64_t bytes, max_size;
    uint64_t received_at; /* when data came last, ns */
    uint64_t stopped_at;
    bool stopped, full;
    uint8_t *buf;
};

/* Opens the ends in the directory DIR, and starts the agent's tracing. CPUS: makes FIFOs for that many CPUs where there are no
 * ends; 0: as many CPUs as there are ends. -errno with ERROR. */
int virtio_trace_guest_open(const char *dir, unsigned cpus, uint64_t max_size,
                            struct virtio_trace_guest *ret, struct error *error);
void virtio_trace_guest_done(struct virtio_trace_guest *guest);

/* Adds the descriptors to poll to WAIT. */
void virtio_trace_guest_poll(const struct virtio_trace_guest *guest, struct recorder_wait *wait);
/* Reads what is there, and gives it to SINK. FDS: what virtio_trace_guest_poll() added. -errno with ERROR. */
int virtio_trace_guest_read(struct virtio_trace_guest *guest, const struct pollfd *fds,
                            struct kernel_sink *sink, uint64_t now, struct error *error);
void virtio_trace_guest_stop(struct virtio_trace_guest *guest, uint64_t now);
/* When the end is reached, unless data comes before, ns; UINT64_MAX: not known. */
uint64_t virtio_trace_guest_ends_at(const struct virtio_trace_guest *guest);
bool virtio_trace_guest_has_ended(const struct virtio_trace_guest *guest, uint64_t now);

/* Gives SINK the files that are needed to decode pages, from the tracefs tree TREE (a copy, or a mounted one). -errno with
 * ERROR. */
int virtio_trace_guest_copy_tree(const char *tree, struct kernel_sink *sink, struct error *error);
