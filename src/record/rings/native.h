/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes a native trace (runtime/sinks/sink_ctf.c) from outside of the traced program: a new trace, or a trace that the
 * program or a collector was writing when it was killed. */

#include "base/error.h"
#include "record/rings/classes.h"
#include "runtime/sinks/ctf_metadata.h"

struct native {
    char *path; /* absolute */
    int dir;
    uint8_t uuid[16];
    char *text; /* the metadata, as it is or will be on disk */
    size_t text_len;
    uint8_t described[CLASS_ID_MAX / 8 + 1]; /* a bit for each class in `text` */
    bool fresh;                              /* `text` is not yet on disk */
    /* Bytes of packets written here. With `max_size` (0: no limit), packets with records that would exceed it are
     * refused. */
    uint64_t size, max_size;
    bool full;
    /* For a new trace: the length of the metadata before the classes, and its contents. */
    size_t start_len;
    struct ctf_metadata metadata;
    uint64_t first_ticks; /* earliest time of packets with records written here */
    bool has_first;       /* such packets were written */
};

/* Creates the directory PATH. -ENOTEMPTY: it exists and is not empty. METADATA->uuid 0: creates a new UUID.
 * METADATA->program stays the caller's, and must live as long as the trace. */
int native_create(const char *path, const struct ctf_metadata *metadata, struct native **ret,
                  struct error *error);
/* Opens any trace at PATH. -ESTALE: there is no trace written by libstrata. */
int native_open(const char *path, struct native **ret, struct error *error);
/* Opens the trace at PATH to continue it. -ESTALE: there is no trace with this UUID. */
int native_complete(const char *path, const uint8_t uuid[16], struct native **ret,
                    struct error *error);
void native_free(struct native *native);

/* Adds missing CLASSES to the metadata. */
int native_describe(struct native *native, const struct classes *classes, struct error *error);
/* Writes a more exact clock rate into the metadata of a trace that was created here. The first event keeps its time, so
 * that a viewer that follows the recording sees one begin: `metadata.start` moves to that event. Times of later events
 * change by the error of the earlier rate. */
int native_refine(struct native *native, uint64_t clock_hz, struct error *error);
/* Writes everything to the disk. */
int native_sync(struct native *native, struct error *error);

/* The stream with the packets of a ring. */
struct native_stream {
    struct native *native;
    unsigned number;
    int fd;             /* -1: nothing was written yet */
    uint64_t length;    /* bytes of whole packets */
    uint64_t discarded; /* events_discarded and timestamp_end of the last packet */
    uint64_t time;
};

/* Opens the stream of ring NUMBER. Cuts off packets from SEQUENCE on and an incomplete packet, because they are still
 * in the ring. -EBADMSG: the stream has other damage, and nothing was done. */
int native_stream_open(struct native *native, unsigned number, uint64_t sequence,
                       struct native_stream *ret, struct error *error);
void native_stream_done(struct native_stream *stream);

/* Writes a packet completely or not at all. LOST: missing events of its ring besides those in its header. -EFBIG, and
 * native->full: max_size is reached; or another negative errno. */
int native_stream_write(struct native_stream *stream, const struct ring_packet *packet,
                        uint64_t lost);

/* Reports in a stream without a ring that LOST events were lost since the program began because their threads got no
 * ring, unless the stream reports as many already. ADD: reports LOST more events than before. TICKS is a time not
 * before the trace's start. PID: of the process. */
int native_put_no_ring(struct native *native, uint64_t lost, bool add, uint64_t ticks, uint32_t pid,
                       struct error *error);
