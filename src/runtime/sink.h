/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink: who gets what the rings hold. There are two kinds. Packet sinks (the native trace) get the
 * sub-buffers of each ring as they are; record sinks (all others) get the records of all rings, put in
 * the order of time. All is called by whoever makes the pass (runtime/writer.h), one at a time. */

#include "runtime/record_layout.h"
#include "runtime/ring.h"

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

struct sink;

/* Stands for a ring in the losses of threads that got none. */
#define RING_NONE RINGS_MAX

struct sink_ops {
    const char *name;
    const char
        *path; /* where it goes when nothing is said, as sink_path() takes it; NULL: no file */
    /* Makes the file: at the start and, when that failed, again and again. Negative errno. NULL: there
     * is nothing to open. */
    int (*open)(struct sink *sink);
    /* One of these two. `packets` stores packets in their order, whole, and returns how many; the rest stays in
     * its ring, or is lost, which packets_lost() then reports to the sink. */
    unsigned (*packets)(struct sink *sink, unsigned ring, const struct ring_packet *packets,
                        unsigned n);
    /* EVENTS of the ring were not stored. */
    void (*packets_lost)(struct sink *sink, unsigned ring, uint64_t events);
    /* Stores PACKET, without records, if it reports losses of RING (RING_NONE: events whose threads got no ring)
     * that no packet before has: 1; 0: it does not; negative errno. */
    int (*losses)(struct sink *sink, unsigned ring, const struct ring_packet *packet);
    /* How many losses the packets of RING have reported. */
    uint64_t (*reported)(const struct sink *sink, unsigned ring);
    /* Returns how many events it could not write. */
    uint64_t (*records)(struct sink *sink, const struct record *records, unsigned n);
    /* What was gathered is to be in the file. Returns how many events that could not be done for. */
    uint64_t (*flush)(struct sink *sink);
    /* Flushes nothing; closes files and gives memory back, so that open() may be called again. */
    void (*close)(struct sink *sink);
};

struct sink {
    const struct sink_ops *ops;
    char *path;  /* as it was given; NULL: that of ops */
    char *whole; /* the same, or that of ops, from the working directory of then; NULL: none */
    char *used;  /* what sink_path() made of it last, NULL: nothing yet */
    bool is_open;
    bool paused; /* what it is shown is passed over, and is no loss */
    bool complained;
    int error;         /* negative errno of the last write that failed; 0: the last one did not */
    uint64_t retry_at; /* ns of CLOCK_MONOTONIC: not opened again before */
    uint64_t lost;     /* events that it could not write */
    uint64_t told;     /* of these, how many the file tells of, if it has records */
    void *state;       /* its own, between open() and close() */
};

extern const struct sink_ops sink_ctf;
extern const struct sink_ops sink_simple;
extern const struct sink_ops sink_log;
extern const struct sink_ops sink_syslog;
extern const struct sink_ops sink_ftrace;

/* Where the native trace is, which is open: an absolute path, good until it is closed. */
const char *sink_ctf_dir(const struct sink *sink);

/* ---- What sinks share (sink.c) ---- */

/* The path that the sink is to use in this process: `path`, or that of ops, with `%p` for the process, and
 * the process's number behind it in a child that was forked with the sink, unless it is a device. One of
 * the two must be there. NULL: no memory. */
char *sink_path(struct sink *sink);
/* The same, but not noted as the path in use. */
char *sink_plan_path(const struct sink *sink);
