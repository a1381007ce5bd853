/* SPDX-License-Identifier: MIT */
#pragma once

/* Drains a process's rings into a CTF trace: once, if the process is dead (recovery), or repeatedly, if
 * it runs without a writer (the outside collector). */

#include "record/rings/native.h"
#include "record/rings/process.h"

struct drain_stats {
    uint64_t events;    /* written to the trace */
    uint64_t discarded; /* since the program began: dropped by full rings … */
    uint64_t no_ring;   /* because their thread had no ring */
    uint64_t unwritten; /* … or not written, as the disk was full or such */
    /* dropped because their class has no description. The length of a record is not known without one,
     * so this counts only the first of each packet: at least this many events, and bytes. */
    uint64_t undecoded, undecoded_bytes;
    uint64_t
        kept; /* not lost: could not be written when the process was dead, and stay in its rings */
    unsigned rings;
    unsigned damaged; /* rings that could not be read */
    int error;        /* why some were not written */
    bool full;        /* … by the trace's max_size */
};

/* Of all that. */
uint64_t drain_stats_lost(const struct drain_stats *stats);

struct ring_drain;

/* LIVE: maps the rings so that drained space is released to the program. RESUME: continues rings in
 * overwrite mode where they were last drained; otherwise drains all of them. NATIVE and PROCESS are
 * borrowed. */
int ring_drain_new(struct process *process, struct native *native, bool live, bool resume,
                   struct ring_drain **ret, struct error *error);
void ring_drain_free(struct ring_drain *taker);

enum drain_mode {
    DRAIN_OFTEN, /* what is closed */
    DRAIN_OPEN,  /* what is committed */
    DRAIN_SAVE,  /* and losses that are in no packet yet */
    DRAIN_ALL,   /* and what flight recorders hold */
    DRAIN_DEAD,  /* of a process that is dead: all that there is */
};

/* Drains what is there now. What cannot be written stays there; DRAIN_ALL counts it as lost, and
 * DRAIN_DEAD fails. Picks up new rings and classes. */
int ring_drain_take(struct ring_drain *taker, enum drain_mode how, struct error *error);

/* Statistics so far; *ret_fullest (may be NULL) is the largest share of a ring that was full at the
 * last drain. */
struct drain_stats ring_drain_taken(const struct ring_drain *taker, double *ret_fullest);

/* Ticks a second as a ring knew when it was made; 0: none did. */
uint64_t ring_drain_clock_hz(const struct ring_drain *taker);

/* True if reading the ring of a dead process terminates (runtime/ring/ring.h says what must hold at every
 * instant). */
bool ring_drain_is_sound(const struct ring_reader *reader);

/* Counts the events in the rings of a dead process that are not written. */
int ring_drain_count(struct process *process, struct drain_stats *ret, struct error *error);
