/* SPDX-License-Identifier: MIT */
/* Makes tracks of an index from the states of CPUs, threads, Xen's vCPUs and domains. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "index/build_internal.h"

/* Limit in one group; states of further subjects are left out. */
#define STATE_TRACKS_MAX TRACKS_MAX

static struct build_track *make_track(struct builder *builder, struct build_group *group,
                                      const struct state_interval *interval)
{
    struct build_track like = {
        .group = group->group,
        .name = "states",
        .kind = INDEX_STATES,
        .rank = INT32_MIN,
        .cpu = interval->of == STATE_SUBJECT_CPU ? interval->id : CPU_UNKNOWN,
        .pid = interval->of == STATE_SUBJECT_THREAD ? interval->id : PID_UNKNOWN,
        .vcpu = interval->of == STATE_SUBJECT_VCPU ? interval->id : VCPU_UNKNOWN,
    };
    char name[32];

    if (interval->of == STATE_SUBJECT_DOMAIN) {
        snprintf(name, sizeof name, "domain %" PRId32, interval->id);
        like.name = arena_strdup(&builder->arena, name);
        like.rank = INT32_MIN + 1;
        like.parent = builder->by_number[group->group->track.number];
        if (!like.name)
            return NULL;
    }
    return build_track_new(builder, &like);
}

/* NULL with builder->error, or if there are too many. */
static struct build_track *find_track(struct builder *builder,
                                      const struct state_interval *interval)
{
    struct build_group *group = build_group_get(builder, interval->origin);
    uint64_t key = (uint64_t)interval->of << 32 | (uint32_t)interval->id;
    struct build_track *track;

    if (!group)
        return NULL;
    if (group->recent_states && group->recent_key == key)
        return group->recent_states;
    track = map_get(&group->states, key);
    if (!track && group->n_states < STATE_TRACKS_MAX) {
        group->n_states++;
        track = make_track(builder, group, interval);
        if (!track || map_put(&group->states, key, track) < 0) {
            builder->error = -ENOMEM;
            return NULL;
        }
    }
    group->recent_states = track;
    group->recent_key = key;
    return track;
}

static int put_unknown(struct builder *builder, struct slice_row *row, int64_t begin, int64_t end)
{
    return begin >= end ? 0
                        : slice_row_put(row, &builder->writer,
                                        (struct row_slice){begin, end, STATE_UNKNOWN,
                                                           state_flags(STATE_UNKNOWN) |
                                                               INDEX_NO_BEGIN | INDEX_OPEN});
}

/* What INTERVAL, the first one of ROW, is of was there before its source began, if it is not a thread. */
static int put_before(struct builder *builder, struct slice_row *row,
                      const struct state_interval *interval)
{
    const struct origin *origin = interval->origin;
    int64_t first = states_begin(&builder->states, origin);

    if (interval->of == STATE_SUBJECT_THREAD || interval->begin > first)
        return 0;
    return put_unknown(builder, row, builder->first_event, clock_to_ns(&origin->clock, first));
}

int build_states_put(void *arg, const struct state_interval *intervals, unsigned n)
{
    struct builder *builder = arg;

    for (unsigned i = 0; i < n; i++) {
        const struct state_interval *interval = &intervals[i];
        const struct clock *clock = &interval->origin->clock;
        struct build_track *track = find_track(builder, interval);
        struct slice_row *row = track ? build_track_row(builder, track, 0) : NULL;
        uint8_t flags = state_flags(interval->state);

        if (builder->error)
            return builder->error;
        if (!row)
            continue;
        if (!interval->begin_seen)
            flags |= INDEX_NO_BEGIN;
        if (!interval->end_seen)
            flags |= builder->is_finishing ? INDEX_OPEN : INDEX_CUT;
        if (row->n == 0 && put_before(builder, row, interval) < 0)
            return -ENOMEM;
        if (slice_row_put(row, &builder->writer,
                          (struct row_slice){clock_to_ns(clock, interval->begin),
                                             clock_to_ns(clock, interval->end), interval->state,
                                             flags}) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Returns the track of the subject of STATES, or NULL if it does not exist. */
static struct track *find_parent(struct builder *builder, const struct build_track *states,
                                 const struct origin *origin)
{
    struct tracks *tracks = &builder->slices.tracks;
    const struct item item = {
        .origin = origin, .cpu = CPU_UNKNOWN, .pid = states->pid, .vcpu = states->vcpu};

    if (states->cpu != CPU_UNKNOWN)
        return tracks_cpu(tracks, states->group, states->cpu, TRACK_CPU);
    if (states->pid != PID_UNKNOWN)
        return tracks_thread(tracks, states->group, &item);
    return tracks_vcpu(tracks, states->group, &item, TRACK_VCPU);
}

static const struct origin *find_origin(const struct builder *builder, const struct group *group)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&builder->slices.tracks.groups, &iter, &key, &value))
        if (value == group)
            return (const struct origin *)(uintptr_t)key;
    return NULL;
}

int build_states_place(struct builder *builder)
{
    const struct origin *origin = NULL;
    const struct group *group = NULL;

    for (unsigned i = 0; i < builder->n_tracks; i++) {
        struct build_track *track = builder->tracks[i];
        struct track *parent;

        if (track->kind != INDEX_STATES || track->parent)
            continue;
        if (group != track->group)
            origin = find_origin(builder, track->group);
        group = track->group;
        parent = find_parent(builder, track, origin);
        if (!parent)
            return -ENOMEM;
        track->parent = builder->by_number[parent->number];
    }
    return 0;
}

int build_states_extend(struct builder *builder)
{
    for (unsigned i = 0; i < builder->n_tracks; i++) {
        const struct build_track *track = builder->tracks[i];
        struct slice_row *row = track->kind == INDEX_STATES ? track->slices[0] : NULL;
        const struct origin *origin = row ? find_origin(builder, track->group) : NULL;

        if (origin &&
            row->last >= clock_to_ns(&origin->clock, states_end(&builder->states, origin)) &&
            put_unknown(builder, row, row->last, builder->writer.header.end) < 0)
            return -ENOMEM;
    }
    return 0;
}
