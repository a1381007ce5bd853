/* SPDX-License-Identifier: MIT */
#pragma once

/* Puts traces that were recorded separately on one timeline: finds how their clocks relate, and writes them all into
 * one trace directory.
 *
 * Each trace, and each source of a trace directory, is a *source* here. Sources with the same clock form a *clock
 * domain*: sources that their directories relate to the same host, sources that use the same time stamp counter, or a
 * single source. The time of a host's domain is its CLOCK_MONOTONIC in ns; the time of another domain is in ticks of
 * its clock. The domain of the reference is the timeline. A clock map relates each other domain to it.
 *
 *     merge_init(&merge, &config);
 *     merge_add_traces(&merge, paths, n) >= 0 && merge_scan(&merge) >= 0 && merge_relate(&merge) >= 0 &&
 *         merge_write(&merge, directory) >= 0
 *     merge_done(&merge);
 *
 * Each step returns 0 or a negative errno with `error`. -EINVAL: the traces or the configuration do not fit together.
 * `notes` has what else the user should know. Nothing is printed. Not thread-safe. */

#include "base/strings.h"
#include "merge/common_events.h"
#include "timeline/clock_fit.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

/* The name of a host's clock in timelines. */
#define MERGE_MONOTONIC "monotonic"

/* Borrowed; outlives the merge. Errors name the members by the options of strata-merge(1). */
struct merge_config {
    /* Options for opening each trace. `events` may contain NAME=FILE, a file only for the source NAME. `host_time` is
     * ignored. */
    struct trace_options open;
    struct strings syncs;     /* rules of merge/common_events.h */
    struct strings layers;    /* NAME=LAYER */
    struct strings tsc;       /* NAME[=OFFSET[*RATIO]] */
    struct strings same_host; /* NAME */
    const char *reference;    /* NAME, or NULL to choose one */
    bool link;                /* makes hard links if possible, instead of copies */
    /* Called after each run of items that merge_scan() reads. May be NULL. */
    void (*progress)(void *arg, const struct trace *trace);
    void *progress_arg;
};

/* A source's counter shows the domain's counter * multiplier / divisor + offset. */
struct merge_counter {
    int64_t offset;
    uint64_t multiplier, divisor;
};

struct merge_source {
    const char *path; /* as given */
    /* In the directory at `path`; NULL outside of trace directories. */
    const struct manifest_source *recorded;
    /* For a guest's kernel: the process of its machine's monitor, by its own directory; 0 if unknown. */
    int32_t monitor;
    struct strings events; /* the files of --trace-events; the list is in the arena */
    struct trace *trace;   /* containing only this source */
    const char *name;      /* in the result */
    enum layer layer;
    const char *format; /* "simpletrace", … */
    struct clock clock;
    int64_t first, last; /* first and last time of its events, in ticks, or TIME_UNKNOWN */
    uint64_t n_events;
    unsigned domain;
    /* Its clock to its domain's time; n is 0 if `counter` is used instead. */
    struct clock_map host_map;
    bool has_pairs_file; /* host_map was read from a file in its directory */
    struct merge_counter counter;
    bool on_host_clock; /* its clock is the host's … */
    int64_t error_ns;   /* … with this largest error */
    const char *host;   /* equal for sources of one host; NULL if unknown */
};

struct merge_domain {
    const char *boot_id; /* of the host; NULL if unknown, or if it is not a host's */
    const char *host;    /* the host's name, or NULL */
    const char *clock;   /* name of its clock; MERGE_MONOTONIC for a host */
    bool is_host;
    uint64_t hz; /* of its clock; 0 if unknown */
    bool related;
    bool scaled;          /* the reference's domain, whose time is only converted by `hz` */
    struct clock_map map; /* its time to the timeline; n is 0 if equal or scaled */
    struct clock_fit fit; /* how the map was found … */
    char *evidence;       /* … in words (malloc) */
};

/* A side of a sync rule. Until all sources were read, several of them may have its events. */
struct merge_side {
    const struct common_side *side;
    const char *event;           /* without the name of the source or layer */
    bool *candidates;            /* by source: it may have the events */
    struct common_events *marks; /* by source */
    unsigned source;             /* has the events, after merge_scan() */
};

struct merge_sync {
    struct common_sync rule;
    struct merge_side a, b;
    bool used;
};

struct merge {
    const struct merge_config *config;
    struct error error;
    const char **notes; /* sentences, in the arena */
    unsigned n_notes;
    struct arena arena;
    struct manifest *manifests; /* of the trace directories */
    unsigned n_manifests;
    struct merge_source *sources;
    unsigned n_sources;
    struct merge_domain *domains;
    unsigned n_domains;
    unsigned reference; /* source */
    struct merge_sync *syncs;
    unsigned n_syncs;
    char boot_id[64];   /* of the timeline */
    struct text checks; /* lines about sync rules whose sides were already related otherwise */
    bool lost;          /* a source lost events */
    bool damaged;       /* a source could not be read to its end; see `notes` */
};

void merge_init(struct merge *merge, const struct merge_config *config);
void merge_done(struct merge *merge);

/* Opens the traces and names their sources. Each operand is PATH or NAME=PATH and must outlive MERGE. */
int merge_add_traces(struct merge *merge, char **operands, int n);
/* Reads all sources: finds the times of their events, and the events of the sync rules. */
int merge_scan(struct merge *merge);
/* Finds the clock domains and the reference, and relates all domains to the reference's. */
int merge_relate(struct merge *merge);
/* Writes the trace directory PATH, which must be empty or not exist. It appears when it is complete. */
int merge_write(struct merge *merge, const char *path);

/* Converts TICKS of SOURCE to the timeline, after merge_relate(). */
int64_t merge_time(const struct merge *merge, const struct merge_source *source, int64_t ticks,
                   int64_t *ret_error_ns);

/* True if CLOCK is a time stamp counter, by its name. */
bool merge_is_tsc(const struct clock *clock);
