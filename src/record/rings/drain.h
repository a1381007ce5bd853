/* SPDX-License-Identifier: MIT */
#pragma once

/* Drains a process's rings into a CTF trace: once if the process is dead (recovery), or repeatedly if it runs without a
 * writer (the outside collector). */

#include "record/rings/native.h"
#include "record/rings/process.h"

struct drain_stats {
    uint64_t events;    /* written to the trace */
    uint64_t discarded; /* dropped by full rings since the program began */
    uint64_t no_ring;   /* dropped because their thread had no ring */
    uint64_t unwritten; /* not written because of an error, such as a full disk */
    /* Dropped because their class has no description. The length of a record is unknown without a description, so only the
 * first such record of each packet counts: the true numbers of events and bytes may be larger. */

    uint64_t undecoded, undecoded_bytes;
    /* Not lost: events of a dead process that could not be written and stay in its rings. */
    uint64_t kept;
    unsigned rings;
    unsigned damaged; /* rings that could not be read */
    int error;        /* why some events were not written */
    bool full;        /* some events were not written because of the trace's max_size */
};

/* The total number of lost events. */
uint64_t drain_stats_lost(const struct drain_stats *stats);

struct ring_drain;

/* LIVE: maps the rings so that drained space is released to the program. RESUME: continues rings in
 * overwrite mode where they were last drained; otherwise drains all of them. NATIVE and PROCESS are
 * borrowed. */
int ring_drain_new(struct process *process, struct native *native, bool live, bool resume,
                   struct ring_drain **ret, struct error *error);
void ring_drain_free(struct ring_drain *taker);

enum drain_mode {
    DRAIN_OFTEN, /* closed sub-buffers */
    DRAIN_OPEN,  /* … and committed records */
    DRAIN_SAVE,  /* … and losses that are in no packet yet */
    DRAIN_ALL,   /* … and rings in overwrite mode */
    DRAIN_DEAD,  /* everything, from a dead process */
};

/* Drains available data by mode HOW. Data that cannot be written stays in the rings; DRAIN_ALL counts it as lost, and
 * DRAIN_DEAD fails. Picks up new rings and classes. */
int ring_drain_take(struct ring_drain *taker, enum drain_mode how, struct error *error);

/* Statistics so far; *ret_fullest (may be NULL) is the largest share of a ring that was full at the
 * last drain. */
struct drain_stats ring_drain_taken(const struct ring_drain *taker, double *ret_fullest);

/* Ticks per second, as a ring stated when it was created; 0: no ring states it. */
uint64_t ring_drain_clock_hz(const struct ring_drain *taker);

/* True if reading the ring of a dead process terminates (runtime/ring/ring.h has the invariants). */
bool ring_drain_is_sound(const struct ring_reader *reader);

/* Counts the unwritten events in the rings of a dead process. */
int ring_drain_count(struct process *process, struct drain_stats *ret, struct error *error);
