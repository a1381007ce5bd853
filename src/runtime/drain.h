/* SPDX-License-Identifier: MIT */
#pragma once

/* One reading of all rings: packets as they come, and the records of all rings merged by time. */

#include "runtime/clock_sync.h"
#include "runtime/ring/ring_cursor.h"
#include "runtime/sinks/sink.h"

enum drain_kind {
    DRAIN_OFTEN,        /* what costs least: closed packets, where no records are asked for */
    DRAIN_OPEN_PACKETS, /* what is committed in open packets too */
    DRAIN_ALL,          /* and what flight recorders hold, and what was dropped since */
    DRAIN_LAST,         /* the same, at the end of the process */
};

struct drain {
    struct cursor *cursors[RINGS_MAX]; /* by the ring's number; NULL: not seen yet */
    struct cursor *heap[RINGS_MAX];    /* those with a record at hand, the earliest first */
    unsigned n_heap;
    uint64_t no_ring;          /* reported drops outside of rings */
    uint64_t no_ring_reported; /* of these, in the CTF trace */
    uint64_t no_ring_packets;  /* by that many packets */
    double fullest;            /* what of the fullest ring was read: 1 is all of it */
    bool kept;                 /* events were left in their rings as they could not be stored */
};

/* Returns how many packets, from the first on, are finished: stored, or, unless KEEP, lost; *ret_lost
 * is the number of events that the CTF trace lacks because of that. With KEEP the rest is offered again
 * in the next pass. */
typedef unsigned (*packets_function)(unsigned ring, const struct ring_packet *packets, unsigned n,
                                     bool keep, uint64_t *ret_lost);
/* Stores a packet without records, of a ring or of RING_NONE, if it reports losses that no packet before has:
 * 1; 0: it does not; negative errno. */
typedef int (*losses_function)(unsigned ring, const struct ring_packet *packet);
typedef void (*records_function)(const struct record *records, unsigned n);

void drain_make(struct drain *drain, enum drain_kind kind, packets_function packets,
                records_function records, losses_function losses, const struct clock_sync *times);
/* A pass that reads nothing: no sink could store it. */
void drain_keep(struct drain *drain);
/* How many losses the native trace has REPORTED of a ring, or of RING_NONE. */
typedef uint64_t (*reported_function)(unsigned ring);
/* For the end of the process; the pass can read nothing after it. How many losses the native trace has not
 * reported: of all rings, or, without FILES, of RING_NONE and of rings that have no file. */
uint64_t drain_unreported(const struct drain *drain, bool files, reported_function reported);
/* How many events are left in rings that have files. Adds those that are left in others to *LOST. */
uint64_t drain_count_left(struct drain *drain, uint64_t *lost);
/* A new CTF trace begins, which has lost nothing yet. */
void drain_forget_losses(struct drain *drain);
void drain_done(struct drain *drain);
