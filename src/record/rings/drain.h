/* SPDX-License-Identifier: MIT */
#pragma once

/* Takes what a process's rings hold into a native trace: once, of a process that is dead (recovery), or
 * again and again, of one that lives and has no writer (the outside collector). */

#include "record/rings/native.h"
#include "record/rings/process.h"

struct drain_stats {
    uint64_t events;    /* written to the trace */
    uint64_t discarded; /* since the program began: dropped by full rings … */
    uint64_t no_ring;   /* … or for want of a ring */
    uint64_t unwritten; /* … or not written, as the disk was full or such */
    /* … or left out, as their class has no description. Without one the length of a record is not known, so
     * this counts the first of each packet alone: at least so many events, of so many bytes. */
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

/* LIVE: the rings are mapped so that space is given back to the program as it is taken. RESUME: what
 * flight recorders hold is taken from where it was taken last, else all of it. NATIVE and PROCESS are
 * borrowed. */
int ring_drain_new(struct process *process, struct native *native, bool live, bool resume,
                   struct ring_drain **ret, struct error *error);
void ring_drain_free(struct ring_drain *taker);

enum drain_mode {
    DRAIN_OFTEN, /* what is closed */
    DRAIN_OPEN,  /* what is committed */
    DRAIN_ALL,   /* and what flight recorders hold */
    DRAIN_DEAD,  /* of a process that is dead: all that there is */
};

/* Takes what there is now. What cannot be written stays where it is; it is counted as lost by DRAIN_ALL, and an error of
 * DRAIN_DEAD. Rings and classes that came since are seen. */
int ring_drain_take(struct ring_drain *taker, enum drain_mode how, struct error *error);

/* So far; the greatest part of a ring that was full at the last taking is *ret_fullest (may be NULL). */
struct drain_stats ring_drain_taken(const struct ring_drain *taker, double *ret_fullest);

/* Ticks a second as a ring knew when it was made; 0: none did. */
uint64_t ring_drain_clock_hz(const struct ring_drain *taker);

/* Whether the ring of a dead process is such that reading it comes to an end (runtime/ring.h says what
 * must hold at every instant). */
bool ring_drain_is_sound(const struct ring_reader *reader);

/* How many events lie in the rings of a dead process, and are not written. */
int ring_drain_count(struct process *process, struct drain_stats *ret, struct error *error);
