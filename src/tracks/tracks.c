/* SPDX-License-Identifier: MIT */
#include "tracks/tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "base/utf8.h"
#include "event/catalogue.h"
#include "tracks/counter_tracks.h"

/* Higher CPU numbers count as unknown, because they are damaged. */
#define CPUS_MAX TRACKS_MAX
#define NAME_MAX_LEN 128

/* Ranks of a group's children. */
enum {
    RANK_LOST,
    RANK_EVENTS,
    RANK_CPUS,
    RANK_VCPUS = RANK_CPUS + CPUS_MAX,
    RANK_LANES,
    RANK_COUNTERS,
    RANK_THREADS,
};

static int announce(struct tracks *tracks, struct track *track)
{
    track->number = ++tracks->n_tracks;
    track->last = INT64_MIN;
    return tracks->made(tracks->made_arg, track);
}

static struct track *make(struct tracks *tracks, struct group *group, const struct track *like,
                          const char *name)
{
    struct track *track = arena_memdup(&tracks->arena, like, sizeof *like);
    struct text clean = TEXT_IN_MEMORY;

    if (!track)
        return NULL;
    utf8_put(&clean, name, strnlen(name, NAME_MAX_LEN));
    track->name = arena_strndup(&tracks->arena, clean.start ? clean.start : "", text_len(&clean));
    text_done(&clean);
    if (!track->name)
        return NULL;
    track->group = group;
    if (!track->parent)
        track->parent = &group->track;
    track->next = group->tracks;
    group->tracks = track;
    return announce(tracks, track) < 0 ? NULL : track;
}

#define NOWHERE .cpu = CPU_UNKNOWN, .pid = PID_UNKNOWN, .vcpu = VCPU_UNKNOWN, .seen = TIME_UNKNOWN

static const char *layer_title(enum layer layer)
{
    static const char *const titles[] = {
        [LAYER_VMM] = "VMM",   [LAYER_HYPERVISOR] = "hypervisor", [LAYER_GUEST] = "guest",
        [LAYER_HOST] = "host", [LAYER_PROGRAM] = "program",
    };

    return (unsigned)layer < ARRAY_SIZE(titles) ? titles[layer] : "?";
}

static unsigned number_of(const struct tracks *tracks, const struct origin *origin)
{
    return tracks->origin_number ? tracks->origin_number(tracks->origin_arg, origin) : 0;
}

/* True if another trace has an origin of ORIGIN's layer. */
static bool is_one_of_several(const struct tracks *tracks, const struct origin *origin,
                              unsigned number)
{
    for (unsigned i = 0; i < tracks->catalogue->n_origins; i++) {
        const struct origin *other = tracks->catalogue->origins[i];

        if (other->layer == origin->layer && number_of(tracks, other) != number)
            return true;
    }
    return false;
}

static struct group *make_group(struct tracks *tracks, const struct origin *origin, unsigned number)
{
    struct group **bigger = realloc(tracks->all, (tracks->n_groups + 1) * sizeof(struct group *));
    struct group *group = bigger ? calloc(1, sizeof *group) : NULL;
    struct text name = TEXT_IN_MEMORY;
    struct text clean = TEXT_IN_MEMORY;

    if (bigger)
        tracks->all = bigger;
    if (!group)
        return NULL;
    tracks->all[tracks->n_groups++] = group;
    text_put_str(&name, layer_title(origin->layer));
    if (is_one_of_several(tracks, origin, number))
        text_printf(&name, " #%u: %s", number, origin->path ? origin->path : "");
    utf8_put(&clean, name.start, text_len(&name));
    group->number = number;
    group->layer = origin->layer;
    group->track = (struct track){.kind = TRACK_GROUP, .rank = (int)number, NOWHERE};
    group->track.group = group;
    group->track.name = arena_strndup(&tracks->arena, clean.start, text_len(&clean));
    text_done(&name);
    text_done(&clean);
    if (!group->track.name || announce(tracks, &group->track) < 0)
        return NULL;
    return group;
}

struct group *tracks_group_slow(struct tracks *tracks, const struct origin *origin)
{
    struct group *group = map_get(&tracks->groups, (uintptr_t)origin);

    if (!group) {
        unsigned number = number_of(tracks, origin);

        for (unsigned i = 0; i < tracks->n_groups && !group; i++)
            if (tracks->all[i]->number == number && tracks->all[i]->layer == origin->layer)
                group = tracks->all[i];
        if (!group)
            group = make_group(tracks, origin, number);
        if (!group || map_put(&tracks->groups, (uintptr_t)origin, group) < 0)
            return NULL;
    }
    tracks->recent_origin = origin;
    tracks->recent = group;
    return group;
}

static int grow_cpus(struct group *group, unsigned cpu)
{
    unsigned n = MAX(cpu + 1, group->n_cpus * 2);
    struct track **bigger;

    if (cpu < group->n_cpus)
        return 0;
    bigger = realloc(group->cpus, (size_t)n * TRACK_CPU_KINDS * sizeof *bigger);
    if (!bigger)
        return -ENOMEM;
    memset(bigger + (size_t)group->n_cpus * TRACK_CPU_KINDS, 0,
           (size_t)(n - group->n_cpus) * TRACK_CPU_KINDS * sizeof *bigger);
    group->cpus = bigger;
    group->n_cpus = n;
    return 0;
}

static _cold_ struct track *make_cpu(struct tracks *tracks, struct group *group, int32_t cpu,
                                     enum track_kind kind)
{
    static const char *const names[] = {"", " interrupts", " events", " lost"};
    struct track like = {.kind = kind, NOWHERE};
    char name[48];

    if (grow_cpus(group, (unsigned)cpu) < 0)
        return NULL;
    if (kind != TRACK_CPU) {
        like.parent = tracks_cpu(tracks, group, cpu, TRACK_CPU);
        if (!like.parent)
            return NULL;
    }
    like.cpu = cpu;
    like.rank = kind == TRACK_CPU ? RANK_CPUS + cpu : (int)kind;
    snprintf(name, sizeof name, "CPU %" PRId32 "%s", cpu, names[kind - TRACK_CPU]);
    return group->cpus[(unsigned)cpu * TRACK_CPU_KINDS + (kind - TRACK_CPU)] =
               make(tracks, group, &like, name);
}

struct track *tracks_cpu(struct tracks *tracks, struct group *group, int32_t cpu,
                         enum track_kind kind)
{
    if (likely((uint32_t)cpu < group->n_cpus)) {
        struct track *track = group->cpus[(unsigned)cpu * TRACK_CPU_KINDS + (kind - TRACK_CPU)];

        if (likely(track != NULL))
            return track;
    }
    if (cpu < 0 || cpu >= CPUS_MAX)
        return tracks_single(tracks, group, kind == TRACK_CPU_LOST ? TRACK_LOST : TRACK_EVENTS);
    return make_cpu(tracks, group, cpu, kind);
}

struct track *tracks_vcpu(struct tracks *tracks, struct group *group, const struct item *item,
                          enum track_kind kind)
{
    uint64_t key = (uint64_t)(uint32_t)item->vcpu << 1 | (kind == TRACK_VCPU_EVENTS);
    struct track **recent = &group->recent_vcpus[key % RECENT_VCPUS];
    struct track *track = *recent;
    struct track like = {.kind = kind, NOWHERE};
    struct text name = TEXT_IN_MEMORY;

    if (likely(track && track->vcpu == item->vcpu && track->kind == kind))
        return track;
    track = map_get(&group->vcpus, key);
    if (track) {
        *recent = track;
        return track;
    }
    if (group->n_vcpus >= TRACKS_MAX)
        return tracks_single(tracks, group, TRACK_EVENTS);
    group->n_vcpus++;
    if (kind == TRACK_VCPU_EVENTS) {
        like.parent = tracks_vcpu(tracks, group, item, TRACK_VCPU);
        if (!like.parent)
            return NULL;
    }
    like.rank = RANK_VCPUS;
    like.vcpu = item->vcpu;
    text_put_literal(&name, "vCPU ");
    if (item->origin->put_vcpu)
        item->origin->put_vcpu(item->origin, item->vcpu, &name);
    else
        text_put_i64(&name, item->vcpu);
    if (kind == TRACK_VCPU_EVENTS)
        text_put_literal(&name, " events");
    text_put(&name, "", 1);
    track = name.error ? NULL : make(tracks, group, &like, name.start);
    text_done(&name);
    return track && map_put(&group->vcpus, key, track) == 0 ? track : NULL;
}

static _cold_ struct track *make_thread(struct tracks *tracks, struct group *group,
                                        const struct item *item, uint64_t key)
{
    const struct origin *origin = item->origin;
    const char *task = origin->task_name ? origin->task_name(origin, item->pid) : NULL;
    const char *learnt = map_get(&group->names, (uint32_t)item->pid);
    struct track like = {.kind = TRACK_THREAD, NOWHERE};
    char name[NAME_MAX_LEN];
    struct track *track;

    if (group->n_threads >= TRACKS_MAX)
        return tracks_single(tracks, group, TRACK_EVENTS);
    group->n_threads++;
    if (!group->threads_parent) {
        struct track parent = {.kind = TRACK_PARENT, .rank = RANK_THREADS, NOWHERE};

        group->threads_parent = make(tracks, group, &parent, "threads");
        if (!group->threads_parent)
            return NULL;
    }
    like.parent = group->threads_parent;
    like.rank = item->pid;
    like.pid = item->pid;
    if (!task || !*task)
        task = learnt;
    if (item->pid == 0 && item->cpu != CPU_UNKNOWN)
        snprintf(name, sizeof name, "idle thread of CPU %" PRId32, item->cpu);
    else if (task && *task)
        snprintf(name, sizeof name, "%s %" PRId32, task, item->pid);
    else if (item->vcpu != VCPU_UNKNOWN && group->layer != LAYER_GUEST)
        snprintf(name, sizeof name, "vCPU %" PRId32 ", thread %" PRId32, item->vcpu, item->pid);
    else
        snprintf(name, sizeof name, "thread %" PRId32, item->pid);
    track = make(tracks, group, &like, name);
    return track && map_put(&group->threads, key, track) == 0 ? track : NULL;
}

int tracks_name_thread(struct tracks *tracks, struct group *group, int32_t pid, const char *name,
                       size_t len)
{
    char *copy;

    if (map_get(&group->names, (uint32_t)pid) || map_get(&group->threads, (uint32_t)pid) ||
        group->n_names >= TRACKS_MAX)
        return 0;
    group->n_names++;
    copy = arena_strndup(&tracks->arena, name, MIN(len, (size_t)NAME_MAX_LEN));
    return copy ? map_put(&group->names, (uint32_t)pid, copy) : -ENOMEM;
}

/* A kernel has an idle thread for each CPU, all with pid 0. */
static uint64_t thread_track_key(int32_t pid, int32_t cpu)
{
    return pid ? (uint32_t)pid : (uint64_t)(uint32_t)cpu << 32;
}

struct track *tracks_find_thread(const struct group *group, int32_t pid, int32_t cpu)
{
    return map_get(&group->threads, thread_track_key(pid, cpu));
}

struct track *tracks_thread(struct tracks *tracks, struct group *group, const struct item *item)
{
    uint64_t key = thread_track_key(item->pid, item->cpu);
    struct track *track;

    if (likely(group->recent && group->recent_key == key))
        return group->recent;
    track = map_get(&group->threads, key);
    if (!track)
        track = make_thread(tracks, group, item, key);
    if (track && track->kind == TRACK_THREAD) {
        group->recent = track;
        group->recent_key = key;
    }
    return track;
}

struct track *tracks_exits(struct tracks *tracks, struct group *group, const struct item *item)
{
    struct track *thread = tracks_thread(tracks, group, item);
    struct track like = {
        .kind = TRACK_THREAD_EXITS, .cpu = CPU_UNKNOWN, .pid = item->pid, .vcpu = VCPU_UNKNOWN};
    char name[NAME_MAX_LEN];

    /* There are too many threads. */
    if (!thread || thread->kind != TRACK_THREAD)
        return thread;
    if (!thread->exits) {
        like.parent = thread;
        snprintf(name, sizeof name, "%.*s exits", (int)sizeof name - 8, thread->name);
        thread->exits = make(tracks, group, &like, name);
    }
    return thread->exits;
}

struct track *tracks_single(struct tracks *tracks, struct group *group, enum track_kind kind)
{
    struct track **track = kind == TRACK_LOST ? &group->lost : &group->events;
    struct track like = {
        .kind = kind, .rank = kind == TRACK_LOST ? RANK_LOST : RANK_EVENTS, NOWHERE};

    if (!*track)
        *track = make(tracks, group, &like, kind == TRACK_LOST ? "lost" : "events");
    return *track;
}

struct track *tracks_counter(struct tracks *tracks, struct group *group,
                             const struct counter_rule *rule, bool has_id, uint64_t id)
{
    uint64_t key = (uint64_t)counter_number(rule) << 32 | (uint32_t)id;
    struct track *track = map_get(&group->counters, key);
    struct track like = {.kind = TRACK_COUNTER, .unit = rule->unit, .rank = RANK_COUNTERS, NOWHERE};
    char name[NAME_MAX_LEN];

    if (track)
        return track;
    /* They all would be one curve. */
    has_id = has_id && group->n_counters++ < TRACKS_MAX;
    if (has_id)
        snprintf(name, sizeof name, "%s %" PRIu64, rule->name, id);
    else
        snprintf(name, sizeof name, "%s", rule->name);
    track = make(tracks, group, &like, name);
    return track && map_put(&group->counters, key, track) == 0 ? track : NULL;
}

struct track *tracks_named_counter(struct tracks *tracks, struct group *group, const char *name,
                                   size_t len, int32_t pid)
{
    struct track like = {.kind = TRACK_COUNTER, .rank = RANK_COUNTERS, NOWHERE};
    char full[NAME_MAX_LEN];
    struct track *track;
    const char *key;

    snprintf(full, sizeof full, "%.*s of %" PRId32, (int)MIN(len, (size_t)NAME_MAX_LEN), name, pid);
    track = map_get_str(&group->named_counters, full, strlen(full));
    if (!track && group->n_counters >= TRACKS_MAX) {
        /* All others are one curve. */
        snprintf(full, sizeof full, "other counters");
        track = map_get_str(&group->named_counters, full, strlen(full));
    }
    if (track)
        return track;
    group->n_counters++;
    key = arena_strdup(&tracks->arena, full);
    track = key ? make(tracks, group, &like, full) : NULL;
    return track && map_put_str(&group->named_counters, key, strlen(key), track) == 0 ? track
                                                                                      : NULL;
}

struct pair *tracks_pair(struct tracks *tracks, struct group *group, const char *name)
{
    struct pair *pair = map_get_str(&group->pairs, name, strlen(name));

    if (pair)
        return pair;
    pair = arena_alloc(&tracks->arena, sizeof *pair);
    if (!pair || map_put_str(&group->pairs, name, strlen(name), pair) < 0)
        return NULL;
    return pair;
}

static int add_lane(struct tracks *tracks, struct group *group, struct pair *pair, const char *name)
{
    struct track like = {.kind = TRACK_LANE, NOWHERE};
    char lane[NAME_MAX_LEN];
    struct track *track;

    if (!pair->parent) {
        struct track parent = {.kind = TRACK_PARENT, .rank = RANK_LANES, NOWHERE};

        pair->parent = make(tracks, group, &parent, name);
        if (!pair->parent)
            return -ENOMEM;
    }
    like.parent = pair->parent;
    like.rank = (int)pair->lanes.n;
    snprintf(lane, sizeof lane, "%s %u", name, pair->lanes.n + 1);
    track = make(tracks, group, &like, lane);
    return track ? lanes_add(&pair->lanes, &tracks->arena, track) : -ENOMEM;
}

int tracks_lane(struct tracks *tracks, struct group *group, struct pair *pair, const char *name,
                struct track **ret_track)
{
    struct track *track = lanes_take(&pair->lanes);
    int r;

    if (!track) {
        if (pair->lanes.n == TRACKS_MAX)
            return -ENOBUFS;
        r = add_lane(tracks, group, pair, name);
        if (r < 0)
            return r;
        track = lanes_take(&pair->lanes);
    }
    *ret_track = track;
    return 0;
}

struct open_slice *track_open(struct tracks *tracks, struct track *track)
{
    if (track->n_open == track->open_room) {
        unsigned room = track->open_room ? 2 * track->open_room : 2;
        struct open_slice *bigger = arena_alloc(&tracks->arena, room * sizeof *bigger);

        if (!bigger)
            return NULL;
        if (track->n_open)
            memcpy(bigger, track->open, track->n_open * sizeof *bigger);
        track->open = bigger;
        track->open_room = room;
    }
    return &track->open[track->n_open++];
}

const struct open_slice *track_close(struct track *track)
{
    const struct open_slice *open = &track->open[--track->n_open];

    if (track->kind == TRACK_LANE)
        lanes_release(&open->pair->lanes, (unsigned)track->rank);
    return open;
}

void tracks_done(struct tracks *tracks)
{
    for (unsigned i = 0; i < tracks->n_groups; i++) {
        struct group *group = tracks->all[i];

        free(group->cpus);
        map_done(&group->vcpus);
        map_done(&group->threads);
        map_done(&group->names);
        map_done(&group->counters);
        map_done(&group->named_counters);
        map_done(&group->pairs);
        free(group);
    }
    free(tracks->all);
    map_done(&tracks->groups);
    arena_done(&tracks->arena);
    *tracks = (struct tracks){0};
}
