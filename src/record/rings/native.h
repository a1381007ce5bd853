/* SPDX-License-Identifier: MIT */
#pragma once

/* A native trace (runtime/sinks/sink_ctf.c) that is written from outside of the traced program: a new one, or
 * one that the program, or a collector, was writing when it was killed. */

#include "base/error.h"
#include "record/rings/classes.h"
#include "runtime/sinks/ctf_metadata.h"

struct native {
    char *path; /* absolute */
    int dir;
    uint8_t uuid[16];
    char *text; /* of the metadata, as it is on disk, or is to be */
    size_t text_len;
    uint8_t described[CLASS_ID_MAX / 8 + 1]; /* a bit for each class that the text has */
    bool fresh;                              /* `text` is not yet on disk */
    /* Bytes of packets that were written here; with `max_size` (0: any), once a packet would go beyond it, packets with records are
     * refused. */
    uint64_t size, max_size;
    bool full;
    /* Of a new one: how long is what stands in front of the classes, and of what it was made. */
    size_t start_len;
    struct ctf_metadata metadata;
    uint64_t first_ticks; /* the earliest time of packets with records that were written here; */
    bool has_first;       /* … false: there are none */
};

/* Makes the directory PATH; -ENOTEMPTY: it is there, and has something in it. METADATA->uuid may be 0, then
 * there is a new one. METADATA->program stays the caller's, and must live as long. */
int native_create(const char *path, const struct ctf_metadata *metadata, struct native **ret,
                  struct error *error);
/* Opens the trace at PATH, whichever it is. -ESTALE: there is none that libstrata wrote. */
int native_open(const char *path, struct native **ret, struct error *error);
/* Opens the trace at PATH to write on. -ESTALE: it is another trace than that of UUID, or none. */
int native_complete(const char *path, const uint8_t uuid[16], struct native **ret,
                    struct error *error);
void native_free(struct native *native);

/* Sees to it that the metadata has all of CLASSES. */
int native_describe(struct native *native, const struct classes *classes, struct error *error);
/* The clock's rate is known better: writes it into the metadata, if we began the trace. The first event
 * keeps its time, so that a viewer that follows the recording has one begin: `metadata.start` moves to that event. Times of
 * later events change by the error of the earlier rate. */
int native_refine(struct native *native, uint64_t clock_hz, struct error *error);
/* All is on the disk. */
int native_sync(struct native *native, struct error *error);

/* The packets of a ring. */
struct native_stream {
    struct native *native;
    unsigned number;
    int fd;             /* -1: there was nothing to write yet */
    uint64_t length;    /* whole packets, bytes */
    uint64_t discarded; /* events_discarded and timestamp_end of the last one */
    uint64_t time;
};

/* The stream of ring NUMBER. What is there of packets from SEQUENCE on is cut off, with what is torn: it is
 * still in the ring. -EBADMSG: what is there is damaged otherwise, and nothing was done. */
int native_stream_open(struct native *native, unsigned number, uint64_t sequence,
                       struct native_stream *ret, struct error *error);
void native_stream_done(struct native_stream *stream);

/* Writes a packet as a whole or not at all. LOST: events of its ring that are missing besides those in
 * its header. -EFBIG, and native->full: max_size is reached; or another negative errno. */
int native_stream_write(struct native_stream *stream, const struct ring_packet *packet,
                        uint64_t lost);

/* Reports, in a stream of no ring, that LOST events have been lost since the program began as their threads got no ring,
 * unless the stream reports as many already; with ADD so many more than it reports. TICKS is a time not before the
 * trace's start, PID that of the process. */
int native_put_no_ring(struct native *native, uint64_t lost, bool add, uint64_t ticks, uint32_t pid,
                       struct error *error);
