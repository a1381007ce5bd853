/* SPDX-License-Identifier: MIT */
#pragma once

/* The index of a trace: all tracks of it (tracks/slices.h, analysis/states/states.h) with their slices, in one file that is
 * mapped, so that any piece of the timeline is answered at any level of detail without reading the trace.
 *
 * Times are ns of the trace's timeline, as exports have them (clock_to_ns()). An open index is read only: any number of
 * threads may ask at once. Nothing in the file is trusted: a damaged file gives errors, or wrong slices, never a crash,
 * and no answer is larger than the file could have held. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "event/item.h" /* enum layer, CPU_UNKNOWN, LOST_UNKNOWN */

struct index;

#define INDEX_NO_TRACK UINT32_MAX

enum index_track_kind {
    INDEX_GROUP,   /* a parent: nothing is on it */
    INDEX_SLICES,  /* what happened: slices, nested to `n_depths` */
    INDEX_STATES,  /* what a CPU, a thread, a vCPU, a domain did: states that follow one another */
    INDEX_EVENTS,  /* counts of events over time: index_counts() */
    INDEX_COUNTER, /* values over time: index_values() */
    INDEX_LOSSES,  /* slices and instants (begin is end) where events were lost */
};

struct index_track {
    uint32_t parent; /* or INDEX_NO_TRACK; less than the track's own number */
    enum index_track_kind kind;
    enum layer layer;
    unsigned source;  /* number of the trace's input */
    const char *name; /* UTF-8, without control characters */
    const char *unit; /* INDEX_COUNTER; NULL: a number */
    int rank;         /* order among the tracks of one parent; tracks are numbered in that order */
    int32_t cpu, pid, vcpu; /* or CPU_UNKNOWN, … */
    unsigned n_depths;      /* INDEX_SLICES, INDEX_STATES, INDEX_LOSSES */
    uint64_t n;             /* slices, events or values */
};

/* Bits. */
enum index_flags {
    INDEX_CUT = 1 << 0,      /* its end is not in the trace */
    INDEX_OPEN = 1 << 1,     /* it is open at the end of the trace */
    INDEX_NO_BEGIN = 1 << 2, /* its begin is not in the trace */
    INDEX_UNKNOWN = 1 << 3,  /* what happened is unknown (contradicting events) */
    INDEX_LOST = 1 << 4,     /* events were lost; with INDEX_CUT: which may have been its end */
    INDEX_IDLE = 1 << 5,
    INDEX_MANY = 1 << 6, /* stands for N slices that are shorter than the resolution */
};

struct index_slice {
    int64_t begin, end;
    /* index_name(). Of INDEX_MANY: the name that takes most of the time; nearly so of very many slices. */
    uint32_t name;
    uint32_t n; /* slices that it stands for, saturated; 1 without INDEX_MANY */
    /* Share of the time from begin to end in which there is a slice, of 65535; 65535 without INDEX_MANY. */
    uint16_t covered;
    uint8_t flags; /* enum index_flags; of INDEX_MANY: those of any */
    uint8_t state; /* INDEX_STATES: enum state (analysis/states/states.h) */
};

/* Zeroed: empty. */
struct index_slices {
    struct index_slice *slices;
    unsigned n, room;
};
void index_slices_done(struct index_slices *slices);

struct index_summary {
    int64_t begin, end;        /* of the trace */
    uint64_t n_events, n_lost; /* lost: LOST_UNKNOWN if any loss has no number */
    uint32_t n_tracks, n_names;
    uint32_t error_ns;      /* the largest error of an event's time */
    const char *clock_note; /* why `error_ns`, and all errors, do not hold; "": they do */
};

/* PATH: of the index file. -EINVAL: not an index, of another version, or damaged; with ERROR. */
int index_open(const char *path, struct index **ret_index, struct error *error);
/* The same of FD, which stays the caller's; PATH is for messages. */
int index_open_fd(int fd, const char *path, struct index **ret_index, struct error *error);
/* Returns NULL. */
/* False: the file was cut since it was opened, and reading what is missing would end the process by SIGBUS. */
bool index_is_whole(const struct index *index);
struct index *index_free(struct index *index);

const struct index_summary *index_summary(const struct index *index);
/* NULL: there is no track NUMBER. */
const struct index_track *index_track(const struct index *index, uint32_t number);
/* UTF-8 without control characters; "" for a number that there is not. */
const char *index_name(const struct index *index, uint32_t number);

/* Appends to SLICES what is on TRACK at DEPTH between FROM and TO (both included), ascending, not overlapping. Slices
 * shorter than RESOLUTION (ns; 0: all are exact) are put together as INDEX_MANY, those that begin in one period of the
 * grid of RESOLUTION: none is left out, and the same slices are together whatever FROM and TO are. An INDEX_MANY at an
 * end may reach beyond it. Slices of a track at a depth that there is not are none. -ENOMEM, -EINVAL (damaged). */
int index_slices(const struct index *index, uint32_t track, unsigned depth, int64_t from,
                 int64_t to, int64_t resolution, struct index_slices *slices);
/* Any track: the events of INDEX_EVENTS, values of INDEX_COUNTER, or slices of all depths that begin in each of N equal
 * periods from FROM (included) to TO (excluded). */
int index_counts(const struct index *index, uint32_t track, int64_t from, int64_t to, unsigned n,
                 uint64_t *ret_counts);

/* INDEX_COUNTER: values that were set in a period, and the one at its end. */
struct index_value {
    int64_t time, min, max, last;
};
/* From the last value before FROM on, which holds there, up to TO; one for each period of RESOLUTION in which there are
 * any. The caller frees *RET_VALUES. */
int index_values(const struct index *index, uint32_t track, int64_t from, int64_t to,
                 int64_t resolution, struct index_value **ret_values, unsigned *ret_n);

/* Arrows: from a slice's begin on one track to another's that concerns the same request, across layers. */
struct index_arrow {
    int64_t begin, end;
    uint32_t from_track, to_track;
    uint16_t from_depth, to_depth;
};
/* Those that touch FROM to TO, at most MAX (the longest), by their ends; *RET_TOTAL: how many there are. The caller
 * frees *RET_ARROWS. */
int index_arrows(const struct index *index, int64_t from, int64_t to, unsigned max,
                 struct index_arrow **ret_arrows, unsigned *ret_n, uint64_t *ret_total);
