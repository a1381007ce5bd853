/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the builder share. While the trace is read, tracks are in the order in which they are made
 * (build.c, build_states.c). At the end they are put into the order of the file, which nests them (build_tracks.c). */

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
    const struct track *track; /* tracks/tracks.h; NULL for the index's own tracks */
    struct build_track *parent;
    struct group *group;
    const char *name, *unit;
    enum index_track_kind kind;
    int rank;
    int32_t cpu, pid, vcpu;
    unsigned serial; /* in the order in which tracks were made */
    /* Its contents: slices by depth, or values; and events, which get a track of their own if there are slices. */
    struct slice_row **slices;
    unsigned n_slices;
    struct value_row *values;
    struct event_row *events;
    struct open_row_slice *open; /* the innermost last */
    unsigned n_open, open_room;
    /* After the trace was read: */
    struct build_track *children, *next; /* in the order of the file */
    uint32_t number;                     /* in the file */
};

/* A group of tracks: one input and layer. */
struct build_group {
    struct group *group;
    struct build_track *events; /* all events */
    struct build_track *error;
    struct event_row *rows; /* of `events` */
    uint32_t error_ns;
    unsigned n_states;
    struct map states; /* by kind and number of their subject */
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
    struct arena arena; /* owns the tracks */
    struct build_track **tracks;
    unsigned n_tracks, tracks_room;
    struct build_track **by_number; /* by the number of struct track */
    unsigned n_by_number, by_number_room;
    struct build_group **groups;
    unsigned n_groups;
    struct map by_origin; /* to groups */
    const struct origin *recent_origin;
    struct build_group *recent;
    struct build_flow *flows; /* flows that may still be joined, by their number */
    struct build_arrow *arrows;
    size_t n_arrows, arrows_room;
    bool has_times, is_finishing;
    int64_t first_event; /* ns, or TIME_UNKNOWN */
    int error;
};

/* NULL with builder->error if out of memory. */
struct build_track *build_track_new(struct builder *builder, const struct build_track *like);
/* Returns the row at DEPTH; makes it if necessary. */
struct slice_row *build_track_row(struct builder *builder, struct build_track *track,
                                  unsigned depth);
struct build_group *build_group_get_slow(struct builder *builder, const struct origin *origin);

static inline struct build_group *build_group_get(struct builder *builder,
                                                  const struct origin *origin)
{
    return origin == builder->recent_origin ? builder->recent
                                            : build_group_get_slow(builder, origin);
}

/* Called with the states of builder->states; ARG is the builder. */
int build_states_put(void *arg, const struct state_interval *intervals, unsigned n);
/* After the last state: puts what is unknown from the end of a source to the end of the trace. 0, -ENOMEM. */
int build_states_extend(struct builder *builder);
/* Sets the parents of the tracks of states. 0, -ENOMEM. */
int build_states_place(struct builder *builder);

/* Puts tracks in order, and writes the sections. 0, -ENOMEM. The writer keeps errors of writing. */
int build_tracks_finish(struct builder *builder);
