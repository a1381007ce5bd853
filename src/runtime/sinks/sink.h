/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink: an output for the contents of the rings. Packet sinks (CTF) get the sub-buffers of each ring unchanged;
 * record sinks (all others) get the records of all rings in the order of time. The thread that makes the pass
 * (runtime/writer.h) calls them, one at a time. */

#include "runtime/ring/record_layout.h"
#include "runtime/ring/ring.h"

/* An event; or, if `layout` is NULL and `dropped` is not 0, a note that `dropped` events are missing before this point.
 * Borrowed until the called function returns. */
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
    /* Creates the file: at the start, and again and again if that failed. Negative errno. NULL: there is nothing to
     * open. */
    int (*open)(struct trace_sink *sink);
    /* Either `packets` or `records` is set. `packets` stores whole packets in order, and returns how many it stored.
     * The others stay in their ring, or are lost, which packets_lost() then reports to the sink. */
    unsigned (*packets)(struct trace_sink *sink, unsigned ring, const struct ring_packet *packets,
                        unsigned n);
    /* EVENTS of the ring were not stored. */
    void (*packets_lost)(struct trace_sink *sink, unsigned ring, uint64_t events);
    /* Stores PACKET, which has no records, if it reports losses of RING (RING_NONE: of threads without a ring) that no
     * earlier packet reports. Returns 1; 0: it reports none; negative errno. */
    int (*losses)(struct trace_sink *sink, unsigned ring, const struct ring_packet *packet);
    /* Returns the number of losses that the packets of RING have reported. */
    uint64_t (*reported)(const struct trace_sink *sink, unsigned ring);
    /* Returns how many events it could not write. */
    uint64_t (*records)(struct trace_sink *sink, const struct record *records, unsigned n);
    /* Writes buffered records to the file. Returns how many events could not be written. */
    uint64_t (*flush)(struct trace_sink *sink);
    /* Closes files and frees memory without flushing. open() may then be called again. */
    void (*close)(struct trace_sink *sink);
};

struct trace_sink {
    const struct trace_sink_ops *ops;
    char *path; /* as given; NULL: the path of `ops` */
    /* the absolute path of `path` or the path of `ops`, by the working directory at that time; NULL: none */
    char *whole;
    char *used;  /* the last result of sink_path(); NULL: none yet */
    bool beside; /* another process writes to that path, so the sink writes to PATH.PID */
    bool is_open;
    bool paused; /* skips its input, which does not count as a loss */
    bool complained;
    int error;         /* negative errno of the last write; 0: it succeeded */
    uint64_t retry_at; /* ns of CLOCK_MONOTONIC: not opened again before */
    uint64_t lost;     /* events that it could not write */
    uint64_t reported; /* of these, reported in the file, if it has records */
    void *state;       /* state of the sink between open() and close() */
};

extern const struct trace_sink_ops sink_ctf;
extern const struct trace_sink_ops sink_simple;
extern const struct trace_sink_ops sink_log;
extern const struct trace_sink_ops sink_syslog;
extern const struct trace_sink_ops sink_ftrace;

/* The absolute path of the open CTF trace; valid until it is closed. */
const char *sink_ctf_dir(const struct trace_sink *sink);

/* ---- What sinks share (sink.c) ---- */

/* The path for the sink in this process: `path`, or the path of `ops`, with `%p` replaced by the process ID. In a child
 * that was forked with the sink, the process ID is appended, unless it is a device. One of the two paths must be set.
 * NULL: out of memory. */
char *sink_path(struct trace_sink *sink);
/* The same, without noting it as the path in use. */
char *sink_plan_path(const struct trace_sink *sink);
