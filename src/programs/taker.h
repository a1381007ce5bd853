/* SPDX-License-Identifier: MIT */
#pragma once

/* Takes what a process's rings hold into a native trace: once, of a process that is dead (recovery), or
 * again and again, of one that lives and has no writer (the outside collector). */

#include "programs/native.h"
#include "programs/process.h"

struct taken {
    uint64_t events;    /* written to the trace */
    uint64_t discarded; /* since the program began: dropped by full rings … */
    uint64_t homeless;  /* … or for want of a ring */
    uint64_t unwritten; /* … or not written, as the disk was full or such */
    /* … or left out, as their class has no description. Without one the length of a record is not known, so
     * this counts the first of each packet alone: at least so many events, of so many bytes. */
    uint64_t undecoded, undecoded_bytes;
    unsigned rings;
    unsigned damaged; /* rings that could not be read */
    int error;        /* why some were not written */
    bool full;        /* … by the trace's max_size */
};

struct taker;

/* LIVE: the rings are mapped so that space is given back to the program as it is taken. RESUME: what
 * flight recorders hold is taken from where it was taken last, else all of it. NATIVE and PROCESS are
 * borrowed. */
int taker_new(struct process *process, struct native *native, bool live, bool resume,
              struct taker **ret, struct fault *fault);
void taker_free(struct taker *taker);

enum taking {
    TAKE_OFTEN, /* what is closed */
    TAKE_OPEN,  /* what is committed */
    TAKE_ALL,   /* and what flight recorders hold */
    TAKE_DEAD,  /* of a process that is dead: all that there is */
};

/* Takes what there is now. What cannot be written is counted, and is an error only of TAKE_DEAD. Rings
 * and classes that came since are seen. */
int taker_take(struct taker *taker, enum taking how, struct fault *fault);

/* So far; the greatest part of a ring that was full at the last taking is *ret_fullest (may be NULL). */
struct taken taker_taken(const struct taker *taker, double *ret_fullest);

/* Ticks a second as a ring knew when it was made; 0: none did. */
uint64_t taker_clock_hz(const struct taker *taker);

/* Whether the ring of a dead process is such that reading it comes to an end (runtime/ring.h says what
 * must hold at every instant). */
bool taker_is_sound(const struct ring_reader *reader);

/* How many events lie in the rings of a dead process, and are not written. */
int taker_count(struct process *process, struct taken *ret, struct fault *fault);
