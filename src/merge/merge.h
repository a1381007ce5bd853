/* SPDX-License-Identifier: MIT */
#pragma once

/* Traces that were recorded apart, on one timeline: finds how their clocks relate, and writes one trace directory of
 * all of them.
 *
 * Each trace, and each source of a trace directory, is a *source* here. Sources whose clocks are known to be the same
 * form a *clock domain*: those that their directories relate to the same host, those that count the same time stamp
 * counter, or a source alone. The time of a host's domain is the nanoseconds of its CLOCK_MONOTONIC, that of another
 * one is the ticks of its clock. The domain of the reference makes the timeline; a clock map relates each other domain
 * to it.
 *
 *     merge_init(&merge, &config);
 *     merge_add_traces(&merge, paths, n) >= 0 && merge_scan(&merge) >= 0 && merge_relate(&merge) >= 0 &&
 *         merge_write(&merge, directory) >= 0
 *     merge_done(&merge);
 *
 * Each step returns 0 or a negative errno with `error`. -EINVAL: the traces or the configuration do not fit together.
 * What the user should know besides is in `notes`. Nothing is printed. Not thread-safe. */

#include "base/strings.h"
#include "merge/common_events.h"
#include "timeline/clock_fit.h"
#include "timeline/clock_map.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

/* The name of a host's clock that makes timelines. */
#define MERGE_MONOTONIC "monotonic"

/* Borrowed; outlives the merge. Errors name these by the options of strata-merge(1). */
struct merge_config {
    /* Options for opening each trace. `events` may contain NAME=FILE, a file for the source NAME only;
     * `host_time` is ignored. */
    struct trace_options open;
    struct strings syncs;     /* rules of merge/common_events.h */
    struct strings layers;    /* NAME=LAYER */
    struct strings tsc;       /* NAME[=OFFSET[*RATIO]] */
    struct strings same_host; /* NAME */
    const char *reference;    /* NAME; NULL: chosen */
    bool link;                /* files become hard links where possible, not copies */
    /* Called after each run of items that merge_scan() reads; NULL: not. */
    void (*progress)(void *arg, const struct trace *trace);
    void *progress_arg;
};

/* The counter that a source reads is the domain's times multiplier / divisor, plus offset. */
struct merge_counter {
    int64_t offset;
    uint64_t multiplier, divisor;
};

struct merge_source {
    const char *path;                       /* as given */
    const struct manifest_source *recorded; /* in the directory at `path`; NULL: a bare trace */
    /* Of a guest's kernel, the process of the monitor in whose machine it ran, by its own directory; 0: not known. */
    int32_t monitor;
    struct strings events; /* the files of --trace-events; the list is in the arena */
    struct trace *trace;   /* containing this source only */
    const char *name;      /* in the result */
    enum layer layer;
    const char *format; /* "simpletrace", … */
    struct clock clock;
    int64_t first, last; /* times of events, ticks; TIME_UNKNOWN: none has one */
    uint64_t n_events;
    unsigned domain;
    struct clock_map host_map; /* of its clock to its domain's time; n 0: none, by `counter` */
    bool has_pairs_file;       /* host_map is what its directory has in a file */
    struct merge_counter counter;
    bool on_host_clock; /* its clock is the host's, … */
    int64_t error_ns;   /* … wrong by this at most */
    const char *host;   /* equal ones are of one host; NULL: not known */
};

struct merge_domain {
    const char *boot_id; /* of a host; NULL: not known, or not a host's */
    const char *host;    /* its name, or NULL */
    const char *clock;   /* the name of the time; MERGE_MONOTONIC of a host */
    bool is_host;
    uint64_t hz; /* of the time; 0: not known */
    bool related;
    bool scaled;          /* the reference: converted by `hz` only */
    struct clock_map map; /* of its time to the timeline; n 0: the same, or scaled */
    struct clock_fit fit; /* how the map was found … */
    char *evidence;       /* … in words (malloc) */
};

/* A side of a sync rule: events that may be in several sources, until all were read. */
struct merge_side {
    const struct common_side *side;
    const char *event;           /* without the source's name or the layer */
    bool *candidates;            /* by source: whether it may be this one */
    struct common_events *marks; /* by source */
    unsigned source;             /* the one that has them, after merge_scan() */
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
    struct text checks; /* lines about sync rules whose sides were already related without them */
    bool lost;          /* a source lost events */
    bool damaged;       /* a source could not be read to its end; see the notes */
};

void merge_init(struct merge *merge, const struct merge_config *config);
void merge_done(struct merge *merge);

/* Opens the traces and names their sources. Each operand is PATH or NAME=PATH and must outlive MERGE. */
int merge_add_traces(struct merge *merge, char **operands, int n);
/* Reads all sources: when their events are, and where those of the sync rules are. */
int merge_scan(struct merge *merge);
/* Finds the clock domains and the reference, and relates all domains to that of the reference. */
int merge_relate(struct merge *merge);
/* Writes the trace directory PATH, which must be empty or not exist; it appears when it is complete. */
int merge_write(struct merge *merge, const char *path);

/* TICKS of SOURCE on the timeline, once it is related. */
int64_t merge_time(const struct merge *merge, const struct merge_source *source, int64_t ticks,
                   int64_t *ret_error_ns);

/* True if CLOCK is a time stamp counter, by its name. */
bool merge_is_tsc(const struct clock *clock);
