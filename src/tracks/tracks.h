/* SPDX-License-Identifier: MIT */
#pragma once

/* The tracks of a timeline: a group for each trace, with CPUs, vCPUs, threads, requests and curves. Each track is made
 * when something first happens there. */

#include "base/arena.h"
#include "base/map.h"
#include "event/item.h"
#include "tracks/lanes.h"

enum track_kind {
    TRACK_GROUP,
    TRACK_PARENT, /* parent of other tracks in a group; without slices */
    TRACK_CPU,    /* slices: the threads that run there; parent of the following three */
    TRACK_CPU_INTERRUPTS,
    TRACK_CPU_EVENTS,
    TRACK_CPU_LOST,
    TRACK_VCPU, /* has slices; parent of its events */
    TRACK_VCPU_EVENTS,
    TRACK_THREAD,
    /* Slices: exits of the vCPU that a thread runs; separate from what the thread does in them. */
    TRACK_THREAD_EXITS,
    TRACK_LANE,
    TRACK_EVENTS, /* events without CPU, vCPU and thread */
    TRACK_LOST,
    TRACK_COUNTER,
};

/* The kinds from TRACK_CPU to TRACK_CPU_LOST. */
#define TRACK_CPU_KINDS 4

struct counter_rule;
struct drawn_span;
struct group;
struct pair;

/* A slice that has begun. */
struct open_slice {
    struct pair *pair;
    struct drawn_span *span; /* NULL if it is not a span but a thread that a CPU was found to run */
    uint32_t flow;           /* number of its flow; 0: none */
};

/* Limit of nested slices on a track. Stacks are less deep, but ends may be missing. Deeper slices are shown as
 * events. */
#define OPEN_MAX 512

struct track {
    enum track_kind kind;
    unsigned number; /* from 1 */
    struct group *group;
    struct track *parent; /* NULL for a group */
    const char *name;     /* UTF-8 */
    const char *unit;     /* of TRACK_COUNTER; may be NULL */
    int rank;             /* among its siblings */
    int32_t cpu;          /* or CPU_UNKNOWN */
    int32_t pid;          /* or PID_UNKNOWN */
    int32_t vcpu;         /* or VCPU_UNKNOWN */
    int64_t last;         /* time of the last begin or end of a slice, in ns */
    /* TRACK_CPU: time of its last event in ns, if later events may be missing (origin_is_recorded_to_end()); otherwise
     * TIME_UNKNOWN */
    int64_t seen;
    struct track *exits; /* TRACK_THREAD: track of its exits; NULL before it is made */
    unsigned n_open, open_room;
    struct open_slice *open; /* the innermost last; track_open() */
    struct track *next;      /* in the same group */
};

/* What the begins and ends of one kind share in one group. */
struct pair {
    bool end_seen;
    bool off; /* nothing ends it here, so it is shown as events */
    struct track *parent;
    struct lanes lanes; /* for ON_LANES */
};

#define RECENT_VCPUS 64 /* a power of two */

struct group {
    unsigned number; /* of the trace */
    enum layer layer;
    struct track track;
    struct track *tracks; /* all other tracks, the newest first */
    struct track **cpus;  /* TRACK_CPU_KINDS for each CPU; NULL before they are made */
    unsigned n_cpus;
    struct map vcpus;
    struct map threads; /* by pid; threads with pid 0 by CPU */
    struct map names;   /* of threads without a track, by pid */
    bool has_switches;  /* Xen: its events tell what runs on CPUs */
    unsigned n_vcpus, n_threads, n_names, n_counters;
    struct map counters;
    struct map named_counters;
    struct map pairs; /* by name */
    struct track *events, *lost, *threads_parent;
    struct track *recent_vcpus[RECENT_VCPUS]; /* by their key in `vcpus` */
    struct track *recent;                     /* thread of the last event */
    uint64_t recent_key;
};

struct tracks {
    struct arena arena;
    struct map groups; /* by origin; several origins may share one */
    struct group **all;
    unsigned n_groups;
    unsigned n_tracks;
    const struct origin *recent_origin;
    struct group *recent;
    const struct catalogue *catalogue;
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    /* Called for each new track, after its parent. 0, or a negative errno. */
    int (*made)(void *arg, const struct track *track);
    void *made_arg;
};

/* Limit of the tracks of one kind in a group. A damaged or hostile trace may have any number. */
#define TRACKS_MAX 65536

/* All functions return NULL if out of memory or if MADE failed. Events without a track of their own are on the group's
 * track of events. */
struct group *tracks_group_slow(struct tracks *tracks, const struct origin *origin);

static inline struct group *tracks_group(struct tracks *tracks, const struct origin *origin)
{
    if (origin == tracks->recent_origin)
        return tracks->recent;
    return tracks_group_slow(tracks, origin);
}

/* KIND: TRACK_CPU to TRACK_CPU_LOST. CPU is not CPU_UNKNOWN. */
struct track *tracks_cpu(struct tracks *tracks, struct group *group, int32_t cpu,
                         enum track_kind kind);
/* KIND: TRACK_VCPU or TRACK_VCPU_EVENTS. The item must have a vCPU. */
struct track *tracks_vcpu(struct tracks *tracks, struct group *group, const struct item *item,
                          enum track_kind kind);
/* Returns the track of thread PID; for PID 0, of CPU's idle thread. NULL if there is none. */
struct track *tracks_find_thread(const struct group *group, int32_t pid, int32_t cpu);
/* The item must have a thread. */
struct track *tracks_thread(struct tracks *tracks, struct group *group, const struct item *item);
/* The same for the track of its exits, below the thread's. */
struct track *tracks_exits(struct tracks *tracks, struct group *group, const struct item *item);
/* Sets the name of thread PID, in case it gets a track. 0, -ENOMEM. */
int tracks_name_thread(struct tracks *tracks, struct group *group, int32_t pid, const char *name,
                       size_t len);
/* KIND: TRACK_EVENTS or TRACK_LOST. */
struct track *tracks_single(struct tracks *tracks, struct group *group, enum track_kind kind);
struct track *tracks_counter(struct tracks *tracks, struct group *group,
                             const struct counter_rule *rule, bool has_id, uint64_t id);
/* Returns the counter of process PID with a name of LEN bytes. */
struct track *tracks_named_counter(struct tracks *tracks, struct group *group, const char *name,
                                   size_t len, int32_t pid);
struct pair *tracks_pair(struct tracks *tracks, struct group *group, const char *name);
/* Gets a lane of PAIR without an open slice; makes one if there is none. Then put a slice there by track_open().
 * -ENOBUFS if there are TRACKS_MAX; -ENOMEM. */
int tracks_lane(struct tracks *tracks, struct group *group, struct pair *pair, const char *name,
                struct track **ret_track);

/* Adds an open slice to TRACK, which must have fewer than OPEN_MAX. NULL if out of memory. */
struct open_slice *track_open(struct tracks *tracks, struct track *track);
/* Removes the innermost slice of TRACK, and returns it. It is valid until another slice is opened there. */
const struct open_slice *track_close(struct track *track);

void tracks_done(struct tracks *tracks);
