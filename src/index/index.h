/* SPDX-License-Identifier: MIT */
#pragma once

/* The index of a trace: all its tracks (tracks/slices.h, analysis/states/states.h) with their slices, in one mapped
 * file. It answers for any piece of the timeline at any level of detail without reading the trace.
 *
 * Times are in ns of the trace's timeline, as in exports (clock_to_ns()). An open index is read only, so any number of
 * threads may use it at once. The file is not trusted. A damaged file causes errors or wrong slices, never a crash, and
 * no answer is larger than the file's contents permit. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "event/item.h" /* enum layer, CPU_UNKNOWN, LOST_UNKNOWN */

struct index;

#define INDEX_NO_TRACK UINT32_MAX

enum index_track_kind {
    INDEX_GROUP,   /* a parent without contents */
    INDEX_SLICES,  /* what happened: slices, nested in `n_depths` */
    INDEX_STATES,  /* what a CPU, thread, vCPU or domain did: states without overlap */
    INDEX_EVENTS,  /* counts of events over time: index_counts() */
    INDEX_COUNTER, /* values over time: index_values() */
    INDEX_LOSSES,  /* slices and instants (begin equals end) where events were lost */
};

struct index_track {
    uint32_t parent; /* or INDEX_NO_TRACK; smaller than the track's own number */
    enum index_track_kind kind;
    enum layer layer;
    unsigned source;  /* number of the trace's input */
    const char *name; /* UTF-8 without control characters */
    const char *unit; /* INDEX_COUNTER; NULL: a plain number */
    int rank; /* order among the tracks with the same parent, in which tracks are numbered */
    int32_t cpu, pid, vcpu; /* or CPU_UNKNOWN and so on */
    unsigned n_depths;      /* INDEX_SLICES, INDEX_STATES, INDEX_LOSSES */
    uint64_t n;             /* number of slices, events or values */
};

/* Bits. */
enum index_flags {
    INDEX_CUT = 1 << 0,      /* its end is not in the trace */
    INDEX_OPEN = 1 << 1,     /* it is open at the end of the trace */
    INDEX_NO_BEGIN = 1 << 2, /* its begin is not in the trace */
    INDEX_UNKNOWN = 1 << 3,  /* what happened is unknown (contradicting events) */
    INDEX_LOST = 1 << 4,     /* events were lost; with INDEX_CUT: possibly its end */
    INDEX_IDLE = 1 << 5,
    INDEX_MANY = 1 << 6, /* stands for N slices shorter than the resolution */
};

struct index_slice {
    int64_t begin, end;
    /* index_name(). For INDEX_MANY: the name that takes most of the time, approximately if there are very many
     * slices. */
    uint32_t name;
    uint32_t n; /* number of slices, saturated; 1 without INDEX_MANY */
    /* Share of the time from `begin` to `end` with a slice, in parts of 65535; 65535 without INDEX_MANY. */
    uint16_t covered;
    uint8_t flags; /* enum index_flags; for INDEX_MANY: the flags of all its slices */
    uint8_t state; /* INDEX_STATES: enum state (analysis/states/states.h) */
};

/* Zeros are an empty list. */
struct index_slices {
    struct index_slice *slices;
    unsigned n, room;
};
void index_slices_done(struct index_slices *slices);

struct index_summary {
    int64_t begin, end;        /* of the trace */
    uint64_t n_events, n_lost; /* n_lost is LOST_UNKNOWN if any loss has no number */
    uint32_t n_tracks, n_names;
    uint32_t error_ns;      /* largest error of an event's time */
    const char *clock_note; /* why `error_ns` and all other errors are wrong, or "" */
};

/* PATH is the index file. -EINVAL with ERROR if it is not an index, has another version, or is damaged. */
int index_open(const char *path, struct index **ret_index, struct error *error);
/* The same for FD, which the caller keeps. PATH is for messages. */
int index_open_fd(int fd, const char *path, struct index **ret_index, struct error *error);
/* False if the file was truncated since it was opened. Reading the missing part would end the process by SIGBUS. */
bool index_is_whole(const struct index *index);
/* Returns NULL. */
struct index *index_free(struct index *index);

const struct index_summary *index_summary(const struct index *index);
/* NULL if there is no track NUMBER. */
const struct index_track *index_track(const struct index *index, uint32_t number);
/* UTF-8 without control characters; "" if there is no name NUMBER. */
const char *index_name(const struct index *index, uint32_t number);

/* Appends to SLICES what is on TRACK at DEPTH between FROM and TO (both included), ascending and without overlap.
 * Slices shorter than RESOLUTION (ns; 0: all are exact) that begin in the same period of the grid of RESOLUTION are
 * combined to an INDEX_MANY. So none is left out, and the same slices are combined for any FROM and TO. An INDEX_MANY
 * at an end may reach beyond it. A depth that does not exist has no slices. -ENOMEM, -EINVAL (damaged). */
int index_slices(const struct index *index, uint32_t track, unsigned depth, int64_t from,
                 int64_t to, int64_t resolution, struct index_slices *slices);
/* Counts in N equal periods from FROM (included) to TO (excluded): the events of INDEX_EVENTS, the values of
 * INDEX_COUNTER, or the slices of all depths of another track that begin there. */
int index_counts(const struct index *index, uint32_t track, int64_t from, int64_t to, unsigned n,
                 uint64_t *ret_counts);

/* INDEX_COUNTER: the values that were set in a period, and the value at its end. */
struct index_value {
    int64_t time, min, max, last;
};
/* Gets values from the last one before FROM, which holds at FROM, up to TO: one for each period of RESOLUTION with
 * values. The caller frees *RET_VALUES. */
int index_values(const struct index *index, uint32_t track, int64_t from, int64_t to,
                 int64_t resolution, struct index_value **ret_values, unsigned *ret_n);

/* Arrows lead from a slice's begin to the begin of a slice of the same request on another track, across layers. */
struct index_arrow {
    int64_t begin, end;
    uint32_t from_track, to_track;
    uint16_t from_depth, to_depth;
};
/* Gets the arrows that touch FROM to TO, sorted by their ends, at most MAX (the longest). *RET_TOTAL: their total
 * number. The caller frees *RET_ARROWS. */
int index_arrows(const struct index *index, int64_t from, int64_t to, unsigned max,
                 struct index_arrow **ret_arrows, unsigned *ret_n, uint64_t *ret_total);
