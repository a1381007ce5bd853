/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the builder have in common. Tracks are in the order in which they were made while the trace is read
 * (build.c, build_states.c), and are put in the order of the file, with what lies in what, when it ends (build_tracks.c). */

#include "analysis/coverage/losses.h"
#include "analysis/states/states.h"
#include "base/arena.h"
#include "base/map.h"
#include "index/index.h"
#include "index/names.h"
#include "index/rows.h"
#include "tracks/slices.h"

struct open_row_slice {
    int64_t begin;
    uint32_t name;
    uint8_t flags;
};

struct build_track {
    const struct track *track; /* tracks/tracks.h; NULL: none of those */
    struct build_track *parent;
    struct group *group;
    const char *name, *unit;
    enum index_track_kind kind;
    int rank;
    int32_t cpu, pid, vcpu;
    unsigned serial; /* in the order of making */
    /* What is on it: slices by depth, or values; and events, which become a track of their own beside slices. */
    struct slice_row **slices;
    unsigned n_slices;
    struct value_row *values;
    struct event_row *events;
    struct open_row_slice *open; /* innermost last */
    unsigned n_open, open_room;
    /* When the trace has been read: */
    struct build_track *children, *next; /* in order */
    uint32_t number;                     /* in the file */
};

/* What each group of tracks (one input and layer) has beside its tracks. */
struct build_group {
    struct group *group;
    struct build_track *events; /* all */
    struct build_track *error;
    struct event_row *rows; /* of `events` */
    uint32_t error_ns;
    unsigned n_states;
    struct map states; /* by what they are of, and its number */
    struct build_track *recent_states;
    uint64_t recent_key;
};

struct build_flow {
    uint64_t id; /* 0: none */
    const struct build_track *track;
    int64_t ns;
    unsigned depth;
};

struct build_arrow {
    const struct build_track *from, *to;
    int64_t begin, end;
    uint16_t from_depth, to_depth;
};

struct builder {
    struct slices slices;
    struct states states;
    struct losses losses;
    struct index_writer writer;
    struct index_names names;
    struct arena arena; /* tracks */
    struct build_track **tracks;
    unsigned n_tracks, tracks_room;
    struct build_track **by_number; /* of struct track */
    unsigned n_by_number, by_number_room;
    struct build_group **groups;
    unsigned n_groups;
    struct map by_origin; /* groups */
    const struct origin *recent_origin;
    struct build_group *recent;
    struct build_flow *flows; /* those that may still be joined, by their number */
    struct build_arrow *arrows;
    size_t n_arrows, arrows_room;
    bool has_times, is_finishing;
    int error;
};

/* NULL, and builder->error, when memory is out. */
struct build_track *build_track_new(struct builder *builder, const struct build_track *like);
/* The row at DEPTH, made if it is not there. */
struct slice_row *build_track_row(struct builder *builder, struct build_track *track,
                                  unsigned depth);
struct build_group *build_group_get_slow(struct builder *builder, const struct origin *origin);

static inline struct build_group *build_group_get(struct builder *builder,
                                                  const struct origin *origin)
{
    return origin == builder->recent_origin ? builder->recent
                                            : build_group_get_slow(builder, origin);
}

/* Target of builder->states, ARG. */
int build_states_put(void *arg, const struct state_interval *intervals, unsigned n);
/* The tracks of states get the parents that they belong to. 0, -ENOMEM. */
int build_states_place(struct builder *builder);

/* Puts tracks in order, and writes the sections. 0, -ENOMEM; what failed to be written is the writer's error. */
int build_tracks_finish(struct builder *builder);
