/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink: an output for the contents of the rings. Packet sinks (CTF) are given the sub-buffers of each
 * ring unchanged; record sinks (all others) the records of all rings in the order of time. Called by
 * the thread that makes the pass (runtime/writer.h), one at a time. */

#include "runtime/ring/record_layout.h"
#include "runtime/ring/ring.h"

/* An event, or, with plan NULL, a note that `dropped` of them are missing before this. Lent until the
 * function that gets it returns. */
struct record {
    uint64_t time; /* ns of CLOCK_MONOTONIC */
    const struct record_layout *layout;
    const uint8_t *arguments;
    uint32_t size; /* of the arguments, bytes */
    uint32_t tid;
    uint64_t dropped;
};

struct trace_sink;

/* Instead of a ring: losses of threads without a ring. */
#define RING_NONE RINGS_MAX

struct trace_sink_ops {
    const char *name;
    const char *path; /* default path, for sink_path(); NULL: no file */
    /* Makes the file: at the start and, when that failed, again and again. Negative errno. NULL: there
     * is nothing to open. */
    int (*open)(struct trace_sink *sink);
    /* One of these two is set. `packets` stores packets in order, whole, and returns how many; the rest
     * stays in its ring, or is lost, which packets_lost() then reports to the sink. */
    unsigned (*packets)(struct trace_sink *sink, unsigned ring, const struct ring_packet *packets,
                        unsigned n);
    /* EVENTS of the ring were not stored. */
    void (*packets_lost)(struct trace_sink *sink, unsigned ring, uint64_t events);
    /* Stores PACKET, which has no records, if it reports losses of RING (RING_NONE: of threads without
     * a ring) that no earlier packet has: 1; 0: it does not; negative errno. */
    int (*losses)(struct trace_sink *sink, unsigned ring, const struct ring_packet *packet);
    /* How many losses the packets of RING have reported. */
    uint64_t (*reported)(const struct trace_sink *sink, unsigned ring);
    /* Returns how many events it could not write. */
    uint64_t (*records)(struct trace_sink *sink, const struct record *records, unsigned n);
    /* Writes what is buffered to the file. Returns how many events could not be written. */
    uint64_t (*flush)(struct trace_sink *sink);
    /* Flushes nothing; closes files and gives memory back, so that open() may be called again. */
    void (*close)(struct trace_sink *sink);
};

struct trace_sink {
    const struct trace_sink_ops *ops;
    char *path;  /* as given; NULL: that of ops */
    char *whole; /* the same, or that of ops, from the working directory of then; NULL: none */
    char *used;  /* what sink_path() made of it last, NULL: nothing yet */
    bool beside; /* another process writes to that path: to PATH.PID */
    bool is_open;
    bool paused; /* skips what it is given, which is not a loss */
    bool complained;
    int error;         /* negative errno of the last write that failed; 0: the last one did not */
    uint64_t retry_at; /* ns of CLOCK_MONOTONIC: not opened again before */
    uint64_t lost;     /* events that it could not write */
    uint64_t reported; /* of these, how many are reported in the file, if it has records */
    void *state;       /* its own, between open() and close() */
};

extern const struct trace_sink_ops sink_ctf;
extern const struct trace_sink_ops sink_simple;
extern const struct trace_sink_ops sink_log;
extern const struct trace_sink_ops sink_syslog;
extern const struct trace_sink_ops sink_ftrace;

/* The absolute path of the open CTF trace; valid until it is closed. */
const char *sink_ctf_dir(const struct trace_sink *sink);

/* ---- What sinks share (sink.c) ---- */

/* The path for the sink in this process: `path`, or that of ops, with `%p` replaced by the process ID;
 * in a child that was forked with the sink, the process ID is appended, unless it is a device. One of
 * the two must be set. NULL: out of memory. */
char *sink_path(struct trace_sink *sink);
/* The same, but not noted as the path in use. */
char *sink_plan_path(const struct trace_sink *sink);
