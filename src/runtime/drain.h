/* SPDX-License-Identifier: MIT */
#pragma once

/* One pass over all rings. It delivers packets as they come, and the records of all rings merged by time. */

#include "runtime/clock_sync.h"
#include "runtime/ring/ring_cursor.h"
#include "runtime/sinks/sink.h"

enum drain_kind {
    DRAIN_OFTEN,        /* the cheapest: only closed packets, if no records are needed */
    DRAIN_OPEN_PACKETS, /* … and committed records in open packets */
    DRAIN_ALL,          /* … and flight recorders, and drops since then */
    DRAIN_LAST,         /* the same, at the end of the process */
};

struct drain {
    struct cursor *cursors[RINGS_MAX]; /* by the ring's number; NULL: not seen yet */
    struct cursor *heap[RINGS_MAX];    /* rings with a pending record, the earliest first */
    unsigned n_heap;
    uint64_t no_ring;          /* reported drops outside of rings */
    uint64_t no_ring_reported; /* of these, reported in the CTF trace */
    uint64_t no_ring_packets;  /* by so many packets */
    double fullest;            /* the share of the fullest ring that was read; 1: all of it */
    bool kept;                 /* events stay in their rings because they could not be stored */
};

/* Returns how many packets, from the first, are finished: stored, or lost unless KEEP is set. *RET_LOST: number of
 * events that the CTF trace therefore lacks. With KEEP, the other packets are offered again in the next pass. */
typedef unsigned (*packets_function)(unsigned ring, const struct ring_packet *packets, unsigned n,
                                     bool keep, uint64_t *ret_lost);
/* Stores a packet without records, of a ring or of RING_NONE, if it reports losses that no earlier packet reports.
 * Returns 1; 0: it reports none; negative errno. */
typedef int (*losses_function)(unsigned ring, const struct ring_packet *packet);
typedef void (*records_function)(const struct record *records, unsigned n);

void drain_make(struct drain *drain, enum drain_kind kind, packets_function packets,
                records_function records, losses_function losses, const struct clock_sync *times);
/* Makes a pass that reads nothing, because no sink could store it. */
void drain_keep(struct drain *drain);
/* Returns how many losses of a ring or of RING_NONE the native trace has reported. */
typedef uint64_t (*reported_function)(unsigned ring);
/* For the end of the process; afterwards, the pass can read nothing. Returns the number of losses that the native trace
 * has not reported: of all rings or, without FILES, of RING_NONE and of rings without a file. */
uint64_t drain_unreported(const struct drain *drain, bool files, reported_function reported);
/* The number of events that stay in rings with files. Adds the number of events in other rings to *LOST. */
uint64_t drain_count_left(struct drain *drain, uint64_t *lost);
/* Call it when a new CTF trace begins, which has lost nothing yet. */
void drain_forget_losses(struct drain *drain);
void drain_done(struct drain *drain);
