/* SPDX-License-Identifier: MIT */
#pragma once

/* The tracks that a timeline is drawn on: a group for each trace, in it CPUs, vCPUs, threads, requests and
 * curves, each made when something first happens there. */

#include "base/arena.h"
#include "base/map.h"
#include "event/item.h"
#include "tracks/lanes.h"

enum track_kind {
    TRACK_GROUP,
    TRACK_PARENT, /* of other tracks in a group; has no slices */
    TRACK_CPU,    /* slices: the threads that run there; parent of the three below */
    TRACK_CPU_INTERRUPTS,
    TRACK_CPU_EVENTS,
    TRACK_CPU_LOST,
    TRACK_VCPU, /* slices; parent of its events */
    TRACK_VCPU_EVENTS,
    TRACK_THREAD,
    TRACK_THREAD_EXITS, /* slices: the exits of the vCPU that a thread runs, beside what the thread does in them */
    TRACK_LANE,
    TRACK_EVENTS, /* events of no CPU, vCPU or thread */
    TRACK_LOST,
    TRACK_COUNTER,
};

/* From TRACK_CPU on. */
#define TRACK_CPU_KINDS 4

struct counter_rule;
struct drawn_span;
struct group;
struct pair;

/* A slice that has begun. */
struct open_slice {
    struct pair *pair;
    struct drawn_span *span; /* NULL: not a span, but a thread that a CPU was found to run */
    uint32_t flow;           /* number among the flows; 0: none */
};

/* Slices within each other on a track: more than stacks have, and a bound where ends never come. The events of what
 * begins within them are shown as events. */
#define OPEN_MAX 512

struct track {
    enum track_kind kind;
    unsigned number; /* from 1 */
    struct group *group;
    struct track *parent; /* NULL: a group */
    const char *name;     /* UTF-8 */
    const char *unit;     /* TRACK_COUNTER; may be NULL */
    int rank;             /* among its siblings */
    int32_t cpu;          /* or CPU_UNKNOWN */
    int32_t pid;          /* or PID_UNKNOWN */
    int32_t vcpu;         /* or VCPU_UNKNOWN */
    int64_t last;         /* when a slice last began or ended, ns */
    int64_t
        seen; /* TRACK_CPU: its last event, ns, if events may be missing after it (origin_is_recorded_to_end());
                           * TIME_UNKNOWN */
    struct track *exits; /* TRACK_THREAD: below it; NULL: not made yet */
    unsigned n_open, open_room;
    struct open_slice *open; /* innermost last; track_open() */
    struct track *next;      /* of the same group */
};

/* What begins and ends of one kind have in common, in one group. */
struct pair {
    bool end_seen;
    bool off; /* nothing ends it here: it is shown as events */
    struct track *parent;
    struct lanes lanes; /* ON_LANES */
};

#define RECENT_VCPUS 64 /* a power of two */

struct group {
    unsigned number; /* of the trace */
    enum layer layer;
    struct track track;
    struct track *tracks; /* all others, newest first */
    struct track **cpus;  /* TRACK_CPU_KINDS for each CPU; NULL: not made yet */
    unsigned n_cpus;
    struct map vcpus;
    struct map threads; /* by pid; those of pid 0 by CPU */
    struct map names;   /* of threads that have no track yet, by pid */
    bool has_switches;  /* of Xen: it tells what runs on CPUs */
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
    struct map groups; /* by origin; many to one */
    struct group **all;
    unsigned n_groups;
    unsigned n_tracks;
    const struct origin *recent_origin;
    struct group *recent;
    const struct catalogue *catalogue;
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    /* Told of each track when it is made, its parent before it. 0, or a negative errno. */
    int (*made)(void *arg, const struct track *track);
    void *made_arg;
};

/* The largest number of a kind that have their own tracks in a group. A damaged or hostile trace may have any number. */
#define TRACKS_MAX 65536

/* All return NULL when memory is out or MADE failed; what has no track of its own is on that of the group's events. */
struct group *tracks_group_slow(struct tracks *tracks, const struct origin *origin);

static inline struct group *tracks_group(struct tracks *tracks, const struct origin *origin)
{
    if (origin == tracks->recent_origin)
        return tracks->recent;
    return tracks_group_slow(tracks, origin);
}

/* KIND: TRACK_CPU to TRACK_CPU_LOST. CPU is known. */
struct track *tracks_cpu(struct tracks *tracks, struct group *group, int32_t cpu,
                         enum track_kind kind);
/* KIND: TRACK_VCPU, TRACK_VCPU_EVENTS. The item's vCPU is known. */
struct track *tracks_vcpu(struct tracks *tracks, struct group *group, const struct item *item,
                          enum track_kind kind);
/* The track of thread PID; of PID 0, of the idle thread of CPU. NULL: there is none. */
struct track *tracks_find_thread(const struct group *group, int32_t pid, int32_t cpu);
/* The item's thread is known. */
struct track *tracks_thread(struct tracks *tracks, struct group *group, const struct item *item);
/* The same: the track of its exits, below the thread's. */
struct track *tracks_exits(struct tracks *tracks, struct group *group, const struct item *item);
/* What the thread PID is called, if it gets a track. 0, -ENOMEM. */
int tracks_name_thread(struct tracks *tracks, struct group *group, int32_t pid, const char *name,
                       size_t len);
/* KIND: TRACK_EVENTS, TRACK_LOST. */
struct track *tracks_single(struct tracks *tracks, struct group *group, enum track_kind kind);
struct track *tracks_counter(struct tracks *tracks, struct group *group,
                             const struct counter_rule *rule, bool has_id, uint64_t id);
/* A counter of process PID, by a name of LEN bytes. */
struct track *tracks_named_counter(struct tracks *tracks, struct group *group, const char *name,
                                   size_t len, int32_t pid);
struct pair *tracks_pair(struct tracks *tracks, struct group *group, const char *name);
/* A lane of PAIR with nothing open, for a slice that track_open() then puts there; it is made if there is none.
 * -ENOBUFS: there are TRACKS_MAX; -ENOMEM. */
int tracks_lane(struct tracks *tracks, struct group *group, struct pair *pair, const char *name,
                struct track **ret_track);

/* Room for one more open slice on TRACK, which has fewer than OPEN_MAX. NULL when memory is out. */
struct open_slice *track_open(struct tracks *tracks, struct track *track);
/* Removes the innermost slice of TRACK, and returns it: it is valid until another is opened there. */
const struct open_slice *track_close(struct track *track);

void tracks_done(struct tracks *tracks);
