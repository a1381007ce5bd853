/* SPDX-License-Identifier: MIT */
#pragma once

/* One reading of all rings: packets as they come, and the records of all rings merged by time. */

#include "runtime/sink.h"
#include "runtime/times.h"
#include "runtime/walk.h"

enum pass_kind {
    PASS_OFTEN,        /* what costs least: closed packets, where no records are asked for */
    PASS_OPEN_PACKETS, /* what is committed in open packets too */
    PASS_ALL,          /* and what flight recorders hold, and what was dropped since */
    PASS_LAST,         /* the same; nothing comes behind it */
};

struct pass {
    struct cursor *cursors[RINGS_MAX]; /* by the ring's number; NULL: not seen yet */
    struct cursor **heap;              /* those with a record at hand, the earliest first */
    unsigned n_heap, heap_size;
    uint64_t homeless; /* drops outside of rings that were told of */
    double fullest;    /* what of the fullest ring was read: 1 is all of it */
};

/* Returns how many events of the packets could not be stored in the native trace. */
typedef uint64_t (*packets_function)(unsigned ring, const struct ring_packet *packets, unsigned n);
typedef void (*records_function)(const struct record *records, unsigned n);

void pass_make(struct pass *pass, enum pass_kind kind, packets_function packets,
               records_function records, const struct times *times);
/* The native trace is another from now on, which has lost nothing yet. */
void pass_forget_losses(struct pass *pass);
void pass_done(struct pass *pass);
